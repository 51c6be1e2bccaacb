// Decodes records. Every byte is validated.

import ByteStore

struct RecordDecoder: ~Escapable {
  let record: RawSpan
  /// The shapes by id. Keeping the whole table would cost several retains per record.
  let shapes: ShapeList
  /// `shapes.bytes`
  let shapeBytes: RawSpan
  /// Limits the memory that is reserved in advance for each map or array, because a forged count at any
  /// nesting level can claim all remaining bytes.
  private static let reservedMax = 1024

  @_lifetime(copy record, copy shapeBytes)
  init(_ record: RawSpan, _ shapes: ShapeTable, shapeBytes: RawSpan) {
    self.record = record
    self.shapes = shapes.shapes
    self.shapeBytes = shapeBytes
  }

  // MARK: Maps

  func map(_ range: Range<Int>, depth: Int) throws(RecordError) -> StoredMap {
    let layout = try mapLayout(range)
    var entries: [StoredMap.Entry] = []
    entries.reserveCapacity(min(layout.count, Self.reservedMax))
    if layout.shape > 0 {
      let names = shapes[shapeID(range)]?.names ?? []
      var start = layout.first
      for slot in 0..<layout.count {
        let end = try end(ofValue: slot, from: start, layout: layout)
        entries.append((names[slot], try value(start..<end, depth: depth)))
        start = end
      }
    } else {
      var start = layout.first
      for index in 0..<layout.count {
        let (name, value) = try parts(ofEntry: index, from: start, layout: layout)
        guard let text = String(record: record.extracting(name)),
          entries.last.map({ $0.name.precedesInUTF8(text) }) ?? true
        else { throw RecordError(offset: start, expected: "a field's name, in order") }
        entries.append((text, try self.value(value, depth: depth)))
        start = value.upperBound
      }
    }
    return StoredMap(sorted: entries)
  }

  func mapLayout(_ range: Range<Int>) throws(RecordError) -> RecordLayout {
    guard
      let layout = RecordLayout(
        mapIn: record, from: range.lowerBound, to: range.upperBound, shapes: shapeBytes)
    else {
      throw RecordError(offset: range.lowerBound, expected: RecordError.mapExpected)
    }
    try checkWidth(layout, hasOffsets: layout.shape == 0)
    return layout
  }

  /// The id of the map's shape. The map must have a shape.
  private func shapeID(_ range: Range<Int>) -> Int {
    (record.varint(at: range.lowerBound, before: range.upperBound)?.value ?? 0) >> 2 - 1
  }

  func parts(
    ofEntry index: Int, from start: Int, layout: RecordLayout
  ) throws(RecordError) -> (name: Range<Int>, value: Range<Int>) {
    guard let entry = layout.range(ofEntry: index, in: record), entry.lowerBound == start else {
      throw RecordError(offset: start, expected: "a field to which the table leads")
    }
    guard let parts = RecordLayout.parts(ofEntry: entry, in: record),
      parts.name.count <= RecordCodec.nameBytesMax
    else { throw RecordError(offset: start, expected: "a field's name") }
    return parts
  }

  // MARK: Tables

  func arrayLayout(_ range: Range<Int>) throws(RecordError) -> RecordLayout {
    guard let layout = RecordLayout(arrayIn: record, from: range.lowerBound, to: range.upperBound) else {
      throw RecordError(offset: range.lowerBound, expected: "a number of elements that fit")
    }
    try checkWidth(layout, hasOffsets: false)
    return layout
  }

  /// Checks that the numbers in a table are as narrow as the largest number allows.
  private func checkWidth(_ layout: RecordLayout, hasOffsets: Bool) throws(RecordError) {
    guard layout.isNarrow(in: record, hasOffsets: hasOffsets) else {
      throw RecordError(offset: layout.table, expected: "a table of narrower numbers")
    }
  }

  func end(
    ofValue index: Int, from start: Int, layout: RecordLayout
  ) throws(RecordError) -> Int {
    guard let end = layout.end(ofValue: index, from: start, in: record) else {
      throw RecordError(offset: start, expected: "a value that ends before byte \(layout.end)")
    }
    return end
  }

  // MARK: Values

  func value(_ range: Range<Int>, depth: Int) throws(RecordError) -> StoredValue {
    let offset = range.lowerBound
    guard let tag = RecordCodec.Tag(rawValue: record.byte(at: offset)) else {
      throw RecordError(offset: offset, expected: "a value's tag")
    }
    switch tag {
    case .array, .map:
      guard depth < RecordCodec.depthMax else {
        throw RecordError(offset: offset, expected: "values at most \(RecordCodec.depthMax) deep")
      }
      let inner = offset + 1..<range.upperBound
      return tag == .map
        ? .map(try map(inner, depth: depth + 1)) : .array(try elements(inner, depth: depth + 1))
    case .pendingTimestamp:
      return try pendingTimestamp(offset + 1..<range.upperBound, depth: depth)
    default:
      guard let scalar = RecordScalar.decode(tag, record.extracting(offset + 1..<range.upperBound)) else {
        throw RecordError(offset: offset, expected: "a value with tag \(tag)")
      }
      return scalar
    }
  }

  func pendingTime(_ range: Range<Int>) throws(RecordError) -> StoredTimestamp {
    guard range.count >= 8,
      let time = StoredTimestamp(microseconds: Int64(bitPattern: record.word(at: range.lowerBound)))
    else { throw RecordError(offset: range.lowerBound, expected: "the time of a write") }
    //  If a pending timestamp replaces another, it takes over that one's previous value. Pending timestamps
    //  are therefore never nested.
    guard
      range.count == 8 || record.byte(at: range.lowerBound + 8) != RecordCodec.Tag.pendingTimestamp.rawValue
    else { throw RecordError(offset: range.lowerBound + 8, expected: "a value that is not pending") }
    return time
  }

  private func pendingTimestamp(_ range: Range<Int>, depth: Int) throws(RecordError) -> StoredValue {
    let time = try pendingTime(range)
    guard range.count > 8 else { return .pendingTimestamp(time, previous: nil) }
    return .pendingTimestamp(
      time, previous: try value(range.lowerBound + 8..<range.upperBound, depth: depth))
  }

  private func elements(_ range: Range<Int>, depth: Int) throws(RecordError) -> [StoredValue] {
    let layout = try arrayLayout(range)
    var elements: [StoredValue] = []
    elements.reserveCapacity(min(layout.count, Self.reservedMax))
    var start = layout.first
    for index in 0..<layout.count {
      let end = try end(ofValue: index, from: start, layout: layout)
      elements.append(try value(start..<end, depth: depth))
      start = end
    }
    return elements
  }

  // MARK: One value

  func value(
    at names: ArraySlice<String>, inMap range: Range<Int>, depth: Int
  ) throws(RecordError) -> StoredValue? {
    guard var name = names.first else { return nil }
    let layout = try mapLayout(range)
    let found = name.withUTF8 { name in
      let name = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(name))
      return layout.find(name, in: record, shapes: shapeBytes)
    }
    switch found {
    case .absent: return nil
    case .damaged: throw RecordError(offset: range.lowerBound, expected: "a table that leads to fields")
    case .value(let place):
      guard names.count > 1 else { return try value(place, depth: depth) }
      guard record.byte(at: place.lowerBound) == RecordCodec.Tag.map.rawValue else { return nil }
      guard depth < RecordCodec.depthMax else {
        throw RecordError(
          offset: place.lowerBound, expected: "values at most \(RecordCodec.depthMax) deep")
      }
      return try value(
        at: names.dropFirst(), inMap: place.lowerBound + 1..<place.upperBound, depth: depth + 1)
    }
  }
}

/// Decodes values that contain no other values.
enum RecordScalar {
  /// Nil for an array, a map or a pending timestamp, and for invalid bytes.
  static func decode(_ tag: RecordCodec.Tag, _ payload: RawSpan) -> StoredValue? {
    switch tag {
    case .null: payload.isEmpty ? .null : nil
    case .false: payload.isEmpty ? .boolean(false) : nil
    case .true: payload.isEmpty ? .boolean(true) : nil
    case .integer: integer(payload).map(StoredValue.integer)
    case .double: double(payload).map(StoredValue.double)
    case .timestamp:
      integer(payload).flatMap(StoredTimestamp.init(microseconds:)).map(StoredValue.timestamp)
    case .string: String(record: payload).map(StoredValue.string)
    case .bytes: .bytes([UInt8](copying: payload))
    case .reference: reference(payload).map(StoredValue.reference)
    case .geoPoint: geoPoint(payload).map(StoredValue.geoPoint)
    case .vector: vector(payload).map(StoredValue.vector)
    case .array, .map, .pendingTimestamp: nil
    }
  }

  private static func integer(_ payload: RawSpan) -> Int64? {
    guard payload.byteCount <= 8 else { return nil }
    let number = payload.signed
    return number.recordBytes == payload.byteCount ? number : nil
  }

  private static func double(_ payload: RawSpan) -> Double? {
    guard payload.byteCount <= 8 else { return nil }
    let number = Double(bitPattern: payload.doubleBits)
    return number.recordBytes == payload.byteCount ? number : nil
  }

  private static func reference(_ payload: RawSpan) -> StoredReference? {
    var next = 0
    guard let project = sized(payload, &next), let database = sized(payload, &next),
      let text = String(record: payload.extracting(droppingFirst: next)),
      let path = try? DocumentPath(text.pathSegments)
    else { return nil }
    return StoredReference(projectID: project, databaseID: database, path: path)
  }

  private static func sized(_ payload: RawSpan, _ next: inout Int) -> String? {
    guard let (size, start) = payload.varint(at: next, before: payload.byteCount),
      size <= payload.byteCount - start
    else { return nil }
    next = start + size
    return String(record: payload.extracting(start..<next))
  }

  private static func geoPoint(_ payload: RawSpan) -> StoredGeoPoint? {
    guard payload.byteCount == 16 else { return nil }
    return StoredGeoPoint(
      latitude: Double(bitPattern: payload.word(at: 0)), longitude: Double(bitPattern: payload.word(at: 8)))
  }

  private static func vector(_ payload: RawSpan) -> [Double]? {
    guard payload.byteCount % 8 == 0 else { return nil }
    return (0..<payload.byteCount / 8).map { Double(bitPattern: payload.word(at: 8 * $0)) }
  }
}
