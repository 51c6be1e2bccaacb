// Makes the keys of an index from the bytes of records, without decoding the documents.
//
//   1. Locate the fields' values. In a record with a known shape, the index's plan has their slots.
//   2. Append the keys of the values to a buffer, between the segments of the document's own key.
//
// Values are validated like values that are decoded. A record is unreadable here if and only if
// `IndexDefinition.entries(ofRecord:at:shapes:)` throws for it.

import ByteStore

/// The values of an index's fields in one record, as ranges of bytes. The range of an absent value is empty.
struct FieldPlaces {
  /// The ranges. Those from `count` on are unused.
  private var places: [Range<Int>] = []
  private var count = 0

  static let absent = 0..<0

  init() {}

  mutating func removeAll() { count = 0 }

  mutating func append(_ place: Range<Int>) {
    if count < places.count { places[count] = place } else { places.append(place) }
    count += 1
  }

  subscript(field: Int) -> Range<Int> { places[field] }

  /// Whether two records have equal bytes in all fields. If they do, and if their shapes are those of one
  /// database, their values are equal.
  static func areSame(
    _ left: FieldPlaces, in leftRecord: RawSpan, as right: FieldPlaces, in rightRecord: RawSpan
  ) -> Bool {
    for field in 0..<left.count {
      let (left, right) = (left.places[field], right.places[field])
      guard leftRecord.extracting(left).isSame(as: rightRecord.extracting(right)) else { return false }
    }
    return true
  }
}

struct RecordKeys: ~Copyable {
  var composer: KeyComposer
  /// The encoded id of the indexed collections.
  let group: [UInt8]
  /// The database whose shapes have plans. Records of other databases are read by name.
  let origin: ShapeTable.Origin?
  private var known: [KeyPlan]
  private var current: KeyPlan?
  private var places = FieldPlaces()

  var plans: KeyPlans { composer.plans }

  init(_ definition: IndexDefinition, _ origin: ShapeTable.Origin?) {
    self.init(definition.keyPlans, origin)
  }

  init(_ plans: KeyPlans, _ origin: ShapeTable.Origin?) {
    composer = KeyComposer(plans)
    group = plans.group
    self.origin = origin
    known = plans.plans(of: origin)
    current = known.first
  }

  /// Replaces `keys` by the keys of a document. Returns false if the record is unreadable.
  mutating func makeKeys(
    of document: borrowing DocumentKeyParts, _ record: RawSpan, shapes: ShapeTable,
    into keys: inout DocumentKeys
  ) -> Bool {
    var places = FieldPlaces()
    swap(&places, &self.places)
    defer { swap(&places, &self.places) }
    return locate(record, shapes, in: &places)
      && composer.makeKeys(of: document, record, shapes: shapes, at: places, into: &keys)
  }

  // MARK: Locating

  /// Locates the values of the index's fields. Returns false if the record is unreadable. Does not validate
  /// the values themselves.
  mutating func locate(_ record: RawSpan, _ shapes: ShapeTable, in places: inout FieldPlaces) -> Bool {
    places.removeAll()
    let shapeBytes = shapes.bytes.rawSpan
    guard let start = RecordCodec.fieldsStart(record),
      let layout = RecordLayout(mapIn: record, from: start, to: record.byteCount, shapes: shapeBytes),
      layout.isNarrow(in: record, hasOffsets: layout.shape == 0)
    else { return false }
    guard layout.shape > 0, shapes.origin === origin,
      let id = record.varint(at: start, before: record.byteCount).map({ $0.value >> 2 - 1 })
    else { return locateByName(record, shapes, in: &places) }
    if current?.shape != id { choosePlan(id, layout.shape, shapes: shapes) }
    guard let plan = current else { return false }
    for field in plan.slots.indices {
      let slot = plan.slots[field]
      guard slot >= 0 else {
        places.append(FieldPlaces.absent)
        continue
      }
      guard var place = layout.range(ofValue: slot, in: record) else { return false }
      if plans.fields[field].isNested {
        guard let inner = Self.place(of: plans.names[field], record, below: place, shapes: shapeBytes) else {
          return false
        }
        place = inner
      }
      places.append(place)
    }
    return true
  }

  private mutating func choosePlan(_ shape: Int, _ place: Int, shapes: ShapeTable) {
    if let plan = known.first(where: { $0.shape == shape }) { return current = plan }
    let plan = plans.makePlan(shape: shape, place: place, shapes: shapes)
    known.append(plan)
    current = plan
  }

  private func locateByName(_ record: RawSpan, _ shapes: ShapeTable, in places: inout FieldPlaces) -> Bool {
    guard let start = RecordCodec.fieldsStart(record) else { return false }
    for names in plans.names {
      switch Self.find(
        names[...], record, inMap: start..<record.byteCount, depth: 0, shapes: shapes.bytes.rawSpan)
      {
      case .value(let place): places.append(place)
      case .absent: places.append(FieldPlaces.absent)
      case .damaged: return false
      }
    }
    return true
  }

  /// The place of a nested field. `place` is the value of the field's first name. Returns nil if the record
  /// is unreadable.
  static func place(
    of names: [String], _ record: RawSpan, below place: Range<Int>, shapes: RawSpan
  ) -> Range<Int>? {
    switch find(names.dropFirst(), record, below: place, shapes: shapes) {
    case .value(let inner): inner
    case .absent: FieldPlaces.absent
    case .damaged: nil
    }
  }

  /// Finds a value below a top-level value, as `RecordDecoder` does.
  private static func find(
    _ names: ArraySlice<String>, _ record: RawSpan, below place: Range<Int>, depth: Int = 0,
    shapes: RawSpan
  ) -> RecordLayout.Found {
    guard record.byte(at: place.lowerBound) == RecordCodec.Tag.map.rawValue else { return .absent }
    guard depth < RecordCodec.depthMax else { return .damaged }
    return find(
      names, record, inMap: place.lowerBound + 1..<place.upperBound, depth: depth + 1, shapes: shapes)
  }

  private static func find(
    _ names: ArraySlice<String>, _ record: RawSpan, inMap range: Range<Int>, depth: Int, shapes: RawSpan
  ) -> RecordLayout.Found {
    guard var name = names.first,
      let layout = RecordLayout(
        mapIn: record, from: range.lowerBound, to: range.upperBound, shapes: shapes),
      layout.isNarrow(in: record, hasOffsets: layout.shape == 0)
    else { return .damaged }
    let found = name.withUTF8 { name in
      layout.find(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(name)), in: record, shapes: shapes)
    }
    guard names.count > 1, case .value(let place) = found else { return found }
    return find(names.dropFirst(), record, below: place, depth: depth, shapes: shapes)
  }
}
