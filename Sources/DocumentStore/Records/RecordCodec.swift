// A document as bytes: the self-describing record, form 0.
//
//   record := form:u8 reserved[7] createTime:i64 updateTime:i64 map
//   map    := count:u32 offset:u32{count} entry{count}
//   entry  := nameBytes:u16 name value
//   value  := tag:u8 payload
//
// Entries stand in the order of their names' bytes, offsets count from the map's first byte: a field is
// found by bisection, without reading the others. Times are microseconds since 1970. All integers are
// little-endian. A reader takes nothing on trust: lengths are checked against the bytes that are left,
// depth against the limit, names and strings for valid UTF-8.

import ByteStore

enum RecordCodec {
  static let selfDescribing: UInt8 = 0
  static let headBytes = 24
  /// Maps and arrays within a document's fields.
  static let depthMax = 20
  static let nameBytesMax = 1500
  /// Room for more comes with what is really there: on each floor a count may claim all bytes left.
  private static let reservedMax = 1024

  enum Tag: UInt8 {
    case null = 0
    case `false` = 1
    case `true` = 2
    case integer = 3
    case double = 4
    case timestamp = 5
    case string = 6
    case bytes = 7
    case reference = 8
    case geoPoint = 9
    case array = 10
    case vector = 11
    case map = 12
  }

  // MARK: Encoding

  static func encode(
    createTime: StoredTimestamp, updateTime: StoredTimestamp, fields: StoredMap
  ) -> [UInt8] {
    var record: [UInt8] = [selfDescribing, 0, 0, 0, 0, 0, 0, 0]
    record.append(littleEndian: createTime.microseconds)
    record.append(littleEndian: updateTime.microseconds)
    append(fields, to: &record)
    return record
  }

  private static func append(_ map: StoredMap, to bytes: inout [UInt8]) {
    let start = bytes.count
    bytes.append(littleEndian: UInt32(map.count))
    let offsets = bytes.count
    bytes.append(contentsOf: repeatElement(0, count: 4 * map.count))
    for (index, entry) in map.entries.enumerated() {
      bytes.overwrite(UInt32(bytes.count - start), at: offsets + 4 * index)
      bytes.append(littleEndian: UInt16(entry.name.utf8.count))
      bytes.append(contentsOf: entry.name.utf8)
      append(entry.value, to: &bytes)
    }
  }

  private static func append(_ value: StoredValue, to bytes: inout [UInt8]) {
    switch value {
    case .null:
      bytes.append(Tag.null.rawValue)
    case .boolean(let value):
      bytes.append(value ? Tag.true.rawValue : Tag.false.rawValue)
    case .integer(let value):
      bytes.append(Tag.integer.rawValue)
      bytes.append(littleEndian: value)
    case .double(let value):
      bytes.append(Tag.double.rawValue)
      bytes.append(littleEndian: value.bitPattern)
    case .timestamp(let value):
      bytes.append(Tag.timestamp.rawValue)
      bytes.append(littleEndian: value.microseconds)
    case .string(let value):
      bytes.append(Tag.string.rawValue)
      append(value, to: &bytes)
    case .bytes(let value):
      bytes.append(Tag.bytes.rawValue)
      bytes.append(littleEndian: UInt32(value.count))
      bytes.append(contentsOf: value)
    case .reference(let value):
      bytes.append(Tag.reference.rawValue)
      append(value.projectID, to: &bytes)
      append(value.databaseID, to: &bytes)
      append(value.path.description, to: &bytes)
    case .geoPoint(let value):
      bytes.append(Tag.geoPoint.rawValue)
      bytes.append(littleEndian: value.latitude.bitPattern)
      bytes.append(littleEndian: value.longitude.bitPattern)
    case .array(let values):
      bytes.append(Tag.array.rawValue)
      appendSized(to: &bytes) { bytes in
        bytes.append(littleEndian: UInt32(values.count))
        for value in values { append(value, to: &bytes) }
      }
    case .vector(let values):
      bytes.append(Tag.vector.rawValue)
      bytes.append(littleEndian: UInt32(values.count))
      for value in values { bytes.append(littleEndian: value.bitPattern) }
    case .map(let map):
      bytes.append(Tag.map.rawValue)
      appendSized(to: &bytes) { append(map, to: &$0) }
    }
  }

  private static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(littleEndian: UInt32(text.utf8.count))
    bytes.append(contentsOf: text.utf8)
  }

  /// The size in bytes first, so that a reader can pass over all of it.
  private static func appendSized(to bytes: inout [UInt8], _ body: (inout [UInt8]) -> Void) {
    let size = bytes.count
    bytes.append(littleEndian: UInt32(0))
    body(&bytes)
    bytes.overwrite(UInt32(bytes.count - size - 4), at: size)
  }

  // MARK: Decoding

  struct Head: Equatable {
    var createTime: StoredTimestamp
    var updateTime: StoredTimestamp
  }

  static func decodeHead(_ record: RawSpan) throws(RecordError) -> Head {
    var reader = ByteReader(record)
    guard let form = reader.uint8(), form == selfDescribing, reader.skip(7) else {
      throw RecordError(offset: 0, expected: "a record of form \(selfDescribing)")
    }
    guard let create = reader.timestamp(), let update = reader.timestamp() else {
      throw RecordError(offset: 8, expected: "two times")
    }
    return Head(createTime: create, updateTime: update)
  }

  static func decodeFields(_ record: RawSpan) throws(RecordError) -> StoredMap {
    var reader = ByteReader(record)
    guard reader.skip(headBytes) else { throw RecordError(offset: 0, expected: "a record's head") }
    let map = try decodeMap(&reader, depth: 0)
    guard reader.bytesLeft == 0 else {
      throw RecordError(offset: reader.offset, expected: "the end of the record")
    }
    return map
  }

  private static func decodeMap(
    _ reader: inout ByteReader, depth: Int
  ) throws(RecordError) -> StoredMap {
    let start = reader.offset
    guard let count = reader.uint32(), Int(count) <= reader.bytesLeft / 7 else {
      throw RecordError(offset: start, expected: "a number of fields that the record has room for")
    }
    var offsets = reader
    guard reader.skip(4 * Int(count)) else {
      throw RecordError(offset: start, expected: "an offset for each field")
    }
    var entries: [StoredMap.Entry] = []
    entries.reserveCapacity(min(Int(count), reservedMax))
    for _ in 0..<count {
      let offset = reader.offset
      guard offsets.uint32().map(Int.init) == offset - start else {
        throw RecordError(offset: offset, expected: "a field whose offset leads here")
      }
      guard let size = reader.uint16(), Int(size) <= nameBytesMax, let name = reader.string(Int(size)),
        entries.last.map({ $0.name.precedesInUTF8(name) }) ?? true
      else { throw RecordError(offset: offset, expected: "a field's name, in order") }
      entries.append((name, try decodeValue(&reader, depth: depth)))
    }
    return StoredMap(sorted: entries)
  }

  static func decodeValue(
    _ reader: inout ByteReader, depth: Int
  ) throws(RecordError) -> StoredValue {
    let offset = reader.offset
    guard let tag = reader.uint8().flatMap(Tag.init(rawValue:)) else {
      throw RecordError(offset: offset, expected: "a value's tag")
    }
    if let scalar = decodeScalar(tag, &reader) { return scalar }
    guard tag == .array || tag == .map, depth < depthMax, let size = reader.uint32(),
      Int(size) <= reader.bytesLeft
    else {
      throw RecordError(offset: offset, expected: "a value with tag \(tag), at most \(depthMax) deep")
    }
    let end = reader.offset + Int(size)
    let value: StoredValue =
      tag == .map
      ? .map(try decodeMap(&reader, depth: depth + 1))
      : .array(try decodeElements(&reader, depth: depth + 1))
    guard reader.offset == end else {
      throw RecordError(offset: reader.offset, expected: "the end of a \(tag) at \(end)")
    }
    return value
  }

  private static func decodeElements(
    _ reader: inout ByteReader, depth: Int
  ) throws(RecordError) -> [StoredValue] {
    guard let count = reader.uint32(), Int(count) <= reader.bytesLeft else {
      throw RecordError(offset: reader.offset, expected: "a number of elements that fit")
    }
    var elements: [StoredValue] = []
    elements.reserveCapacity(min(Int(count), reservedMax))
    for _ in 0..<count { elements.append(try decodeValue(&reader, depth: depth)) }
    return elements
  }

  /// Nil for an array or a map, and for bytes that are not such a value.
  static func decodeScalar(_ tag: Tag, _ reader: inout ByteReader) -> StoredValue? {
    switch tag {
    case .null: .null
    case .false: .boolean(false)
    case .true: .boolean(true)
    case .integer: reader.uint64().map { .integer(Int64(bitPattern: $0)) }
    case .double: reader.double().map(StoredValue.double)
    case .timestamp: reader.timestamp().map(StoredValue.timestamp)
    case .string: reader.sizedString().map(StoredValue.string)
    case .bytes: reader.uint32().flatMap { reader.array(Int($0)) }.map(StoredValue.bytes)
    case .reference: reader.reference().map(StoredValue.reference)
    case .geoPoint: reader.geoPoint().map(StoredValue.geoPoint)
    case .vector: reader.vector().map(StoredValue.vector)
    case .array, .map: nil
    }
  }
}

/// Bytes that are not a record, and where.
package struct RecordError: Error, Equatable {
  package var offset: Int
  package var expected: String
}

extension ByteReader {
  fileprivate mutating func double() -> Double? { uint64().map(Double.init(bitPattern:)) }

  fileprivate mutating func timestamp() -> StoredTimestamp? {
    uint64().flatMap { StoredTimestamp(microseconds: Int64(bitPattern: $0)) }
  }

  fileprivate mutating func string(_ count: Int) -> String? {
    array(count).flatMap { String(validating: $0, as: UTF8.self) }
  }

  fileprivate mutating func sizedString() -> String? {
    guard let count = uint32() else { return nil }
    return string(Int(count))
  }

  fileprivate mutating func reference() -> StoredReference? {
    guard let project = sizedString(), let database = sizedString(), let text = sizedString(),
      let path = try? DocumentPath(text.pathSegments)
    else { return nil }
    return StoredReference(projectID: project, databaseID: database, path: path)
  }

  fileprivate mutating func geoPoint() -> StoredGeoPoint? {
    guard let latitude = double(), let longitude = double() else { return nil }
    return StoredGeoPoint(latitude: latitude, longitude: longitude)
  }

  fileprivate mutating func vector() -> [Double]? {
    guard let count = uint32(), Int(count) <= bytesLeft / 8 else { return nil }
    var elements: [Double] = []
    elements.reserveCapacity(Int(count))
    for _ in 0..<count {
      guard let element = double() else { return nil }
      elements.append(element)
    }
    return elements
  }
}

extension [UInt8] {
  fileprivate mutating func overwrite(_ value: UInt32, at offset: Int) {
    for byte in 0..<4 { self[offset + byte] = UInt8(truncatingIfNeeded: value >> (8 * UInt32(byte))) }
  }
}
