// A document as bytes.
//
//   record := 1 time:i64 map                            never changed since it was made
//           | 2 time:i64 difference:varint map          zigzag: how much later it was changed than made
//   value  := tag:u8 payload                            up to the end that the map or the array tells
//
// RecordLayout.swift has the grammar of maps and arrays. Entries and slots stand in the order of their names'
// bytes. A map has the shape of its names if the database has one (ShapeDictionary.swift); any other map carries
// its names.
//
//   integer, timestamp  little-endian, as few bytes as it needs with its sign; none for 0
//   double              little-endian, without the low bytes that are zeros
//   string, bytes       as they are
//   reference           project and database, each bytes:varint and UTF-8, then the path
//   geo point           two doubles of 8 bytes
//   vector              doubles of 8 bytes
//   pending timestamp   microseconds:i64, then the value that was there before, if there was one
//
// There is one record for each document and choice of shapes. A reader takes nothing on trust: lengths are checked
// against the bytes that are left, depth against the limit, names and strings for valid UTF-8.

import ByteStore

enum RecordCodec {
  static let unchangedForm: UInt8 = 1
  static let changedForm: UInt8 = 2
  /// Maps and arrays within a document's fields.
  static let depthMax = 20
  static let nameBytesMax = 1500

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
    case pendingTimestamp = 13
  }

  struct Head: Equatable {
    var createTime: StoredTimestamp
    var updateTime: StoredTimestamp
    /// Where the fields begin.
    var bytes: Int
  }

  /// A record without shapes.
  static func encode(
    createTime: StoredTimestamp, updateTime: StoredTimestamp, fields: StoredMap
  ) -> [UInt8] {
    var encoder = RecordEncoder(shapes: nil)
    _ = encoder.append(createTime: createTime, updateTime: updateTime, fields: fields)
    return encoder.bytes
  }

  static func decodeHead(_ record: RawSpan) throws(RecordError) -> Head {
    guard let form = record.byteCount > 0 ? record.byte(at: 0) : nil,
      form == unchangedForm || form == changedForm
    else { throw RecordError(offset: 0, expected: "a record of form \(unchangedForm) or \(changedForm)") }
    guard record.byteCount >= 9,
      let create = StoredTimestamp(microseconds: Int64(bitPattern: record.word(at: 1)))
    else { throw RecordError(offset: 1, expected: "a time") }
    guard form == changedForm else { return Head(createTime: create, updateTime: create, bytes: 9) }
    guard let (difference, bytes) = Zigzag.decode(record.extracting(droppingFirst: 9)), difference != 0,
      case let (time, overflow) = create.microseconds.addingReportingOverflow(difference), !overflow,
      let update = StoredTimestamp(microseconds: time)
    else { throw RecordError(offset: 9, expected: "another time") }
    return Head(createTime: create, updateTime: update, bytes: 9 + bytes)
  }

  static func decodeFields(_ record: RawSpan, _ shapes: ShapeTable) throws(RecordError) -> StoredMap {
    let start = try decodeHead(record).bytes
    let decoder = RecordDecoder(record, shapes, shapes.bytes.rawSpan)
    return try decoder.map(start..<record.byteCount, depth: 0)
  }

  /// Throws for bytes from which `decodeHead` or `decodeFields` throws, and makes nothing of the others.
  static func check(_ record: RawSpan, _ shapes: ShapeTable) throws(RecordError) {
    let start = try decodeHead(record).bytes
    let decoder = RecordDecoder(record, shapes, shapes.bytes.rawSpan)
    try decoder.checkMap(start..<record.byteCount, depth: 0)
  }

  /// The value at a path, decoded by itself; nil if there is none, or something on the way is no map.
  static func value(
    at path: StoredFieldPath, in record: RawSpan, _ shapes: ShapeTable
  ) throws(RecordError) -> StoredValue? {
    guard let start = Self.fieldsStart(record) else {
      throw RecordError(offset: 0, expected: "a record's head")
    }
    let decoder = RecordDecoder(record, shapes, shapes.bytes.rawSpan)
    return try decoder.value(at: path.names[...], inMap: start..<record.byteCount, depth: 0)
  }

  /// Where the fields begin; nil if there is no head.
  @usableFromInline
  static func fieldsStart(_ record: RawSpan) -> Int? {
    guard record.byteCount >= 9 else { return nil }
    switch record.byte(at: 0) {
    case unchangedForm: return 9
    case changedForm: return Zigzag.decode(record.extracting(droppingFirst: 9)).map { 9 + $0.bytes }
    default: return nil
    }
  }
}

/// Small numbers of either sign as varints.
enum Zigzag {
  static func encode(_ number: Int64) -> UInt64 { UInt64(bitPattern: number << 1 ^ number >> 63) }

  /// The number, and how many bytes it takes.
  static func decode(_ bytes: RawSpan) -> (number: Int64, bytes: Int)? {
    var reader = ByteReader(bytes)
    guard let value = reader.varint(), reader.offset == 1 || bytes.byte(at: reader.offset - 1) != 0 else {
      return nil
    }
    return (Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1), reader.offset)
  }
}

/// Bytes that are not a record, and where.
package struct RecordError: Error, Equatable {
  static let mapExpected = "a map with names, or with a shape that there is"

  package var offset: Int
  package var expected: String

  package init(offset: Int, expected: String) {
    self.offset = offset
    self.expected = expected
  }
}

extension RecordCodec {
  /// The id of the shape for want of which a record is none; nil if something else is wrong with it.
  static func lostShape(_ error: RecordError, in record: RawSpan, _ shapes: ShapeTable) -> Int? {
    guard error.expected == RecordError.mapExpected,
      let head = record.varint(at: error.offset, before: record.byteCount)?.value, head > 3
    else { return nil }
    let id = head >> 2 - 1
    guard id <= Shape.idMax else { return nil }
    return shapes.shapes.indices.contains(id) && shapes.shapes[id] != nil ? nil : id
  }
}
