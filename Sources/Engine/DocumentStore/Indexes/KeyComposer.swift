// Composes keys of values in records.
//
// IndexDefinition.swift has the grammar of the keys.

import ByteStore

struct KeyComposer: ~Copyable {
  /// The form of the keys.
  var plans: KeyPlans
  /// The keys of the elements of an array, and their ranges in key order.
  private var elements = KeyBuffer()
  private var elementKeys: [Range<Int>] = []

  init(_ plans: KeyPlans = .none) { self.plans = plans }

  /// Frees the memory of an unusually large array.
  mutating func shrink() {
    elements.shrink()
    if elementKeys.capacity > KeyBuffer.capacityKept { elementKeys = [] }
  }

  /// Replaces `keys` by the keys of a document whose values were located. Returns false if a value cannot be
  /// decoded.
  mutating func makeKeys(
    of document: borrowing DocumentKeyParts, _ record: RawSpan, shapes: ShapeTable,
    at places: FieldPlaces, into keys: inout DocumentKeys
  ) -> Bool {
    keys.removeAll()
    if plans.hasElements {
      guard appendKeys(of: document, record, shapes: shapes, at: places, to: &keys) else { return false }
    } else {
      guard appendKey(of: document, record, shapes: shapes, at: places, to: &keys) else { return false }
    }
    keys.sort()
    if keys.count > 0 { keys.numbers = numbers(record, places) }
    return true
  }

  /// Appends the only key of a document, if it has one.
  private func appendKey(
    of document: borrowing DocumentKeyParts, _ record: RawSpan, shapes: ShapeTable,
    at places: FieldPlaces, to keys: inout DocumentKeys
  ) -> Bool {
    keys.begin()
    appendParent(of: document, to: &keys.buffer)
    var isComplete = true
    for field in plans.fields.indices {
      switch append(field, record, shapes: shapes, at: places, to: &keys.buffer) {
      case .appended: continue
      // The other values are still validated.
      case .absent: isComplete = false
      case .damaged: return false
      }
    }
    guard isComplete else {
      keys.abandon()
      return true
    }
    appendName(of: document, to: &keys.buffer)
    keys.end()
    return true
  }

  private enum Appended { case appended, absent, damaged }

  /// Appends the key of a field that is not an array of which elements are indexed.
  private func append(
    _ field: Int, _ record: RawSpan, shapes: ShapeTable, at places: FieldPlaces, to key: inout KeyBuffer
  ) -> Appended {
    let form = plans.fields[field]
    let start = key.count
    let place = places[field]
    if place.isEmpty {
      guard form.isNullable else { return .absent }
      key.append(IndexKey.null)
    } else {
      guard Self.append(place, record, shapes: shapes, depth: plans.names[field].count - 1, to: &key) else {
        return .damaged
      }
    }
    if form.isDescending { key.invert(from: start) }
    return .appended
  }

  /// Appends the key of the value at a place. `depth` is the depth of the map or array around the value.
  /// Returns false if the value cannot be decoded.
  private static func append(
    _ place: Range<Int>, _ record: RawSpan, shapes: ShapeTable, depth: Int, to key: inout KeyBuffer
  ) -> Bool {
    if let isValid = key.append(keyOfScalar: record.extracting(place)) { return isValid }
    let decoder = RecordDecoder(record, shapes, shapeBytes: shapes.bytes.rawSpan)
    guard let value = try? decoder.value(place, depth: depth) else { return false }
    key.append(copying: value.indexKey.rawSpan)
    return true
  }

  private func appendParent(of document: borrowing DocumentKeyParts, to key: inout KeyBuffer) {
    guard plans.scope == .collection else { return }
    key.append(copying: document.parent)
    key.append(DocumentKey.end)
  }

  private func appendName(of document: borrowing DocumentKeyParts, to key: inout KeyBuffer) {
    key.append(copying: plans.scope == .collection ? document.document : document.path)
  }

  private func numbers(_ record: RawSpan, _ places: FieldPlaces) -> NumberBits {
    var bits = NumberBits()
    for field in plans.fields.indices.prefix(NumberBits.fieldsMax) {
      guard !plans.fields[field].isElement, let place = places[field].first else { continue }
      switch RecordCodec.Tag(rawValue: record.byte(at: place)) {
      case .integer: bits.integers |= 1 << UInt64(field)
      case .double: bits.doubles |= 1 << UInt64(field)
      default: break
      }
    }
    return bits
  }

  // MARK: Elements of an array

  /// Appends a key for each distinct element of the indexed array, in key order.
  private mutating func appendKeys(
    of document: borrowing DocumentKeyParts, _ record: RawSpan, shapes: ShapeTable,
    at places: FieldPlaces, to keys: inout DocumentKeys
  ) -> Bool {
    // The bytes of a key before its element, and those behind it.
    var start = KeyBuffer()
    var end = KeyBuffer()
    appendParent(of: document, to: &start)
    var isComplete = true
    var isBehind = false
    for field in plans.fields.indices {
      if plans.fields[field].isElement {
        isBehind = true
        guard appendElements(places[field], record, shapes: shapes, depth: plans.names[field].count - 1)
        else {
          return false
        }
        continue
      }
      let appended =
        isBehind
        ? append(field, record, shapes: shapes, at: places, to: &end)
        : append(field, record, shapes: shapes, at: places, to: &start)
      if appended == .damaged { return false }
      if appended == .absent { isComplete = false }
    }
    guard isComplete else { return true }
    appendName(of: document, to: &end)
    for element in elementKeys {
      keys.begin()
      keys.buffer.append(copying: start.bytes)
      keys.buffer.append(copying: elements.bytes.extracting(element))
      keys.buffer.append(copying: end.bytes)
      keys.end()
    }
    return true
  }

  /// Collects the keys of the elements of an array, sorted and without duplicates. Other values have no
  /// elements. Returns false if the value cannot be decoded.
  private mutating func appendElements(
    _ place: Range<Int>, _ record: RawSpan, shapes: ShapeTable, depth: Int
  ) -> Bool {
    elements.removeAll()
    elementKeys.removeAll(keepingCapacity: true)
    guard let tag = place.first else { return true }
    guard record.byte(at: tag) == RecordCodec.Tag.array.rawValue else {
      return Self.append(place, record, shapes: shapes, depth: depth, to: &elements)
    }
    guard depth < RecordCodec.depthMax,
      let layout = RecordLayout(arrayIn: record, from: tag + 1, to: place.upperBound),
      layout.isNarrow(in: record, hasOffsets: false)
    else { return false }
    var next = layout.first
    for index in 0..<layout.count {
      let start = elements.count
      guard let end = layout.end(ofValue: index, from: next, in: record),
        Self.append(next..<end, record, shapes: shapes, depth: depth + 1, to: &elements)
      else { return false }
      elementKeys.append(start..<elements.count)
      next = end
    }
    elementKeys = Self.unique(elementKeys, of: elements.bytes)
    return true
  }

  private static func unique(_ keys: [Range<Int>], of bytes: RawSpan) -> [Range<Int>] {
    guard keys.count > 1 else { return keys }
    var unique: [Range<Int>] = []
    for key in keys.sorted(by: { bytes.extracting($0).precedes(bytes.extracting($1)) }) {
      if let last = unique.last, bytes.extracting(last).isSame(as: bytes.extracting(key)) { continue }
      unique.append(key)
    }
    return unique
  }
}
