// The encoding of documents.
//
//   record := 1 time:i64 map                            not changed since it was created
//           | 2 time:i64 difference:varint map          zigzag: update time minus create time
//   value  := tag:u8 payload                            up to the end that the map or the array states
//
// RecordLayout.swift has the grammar of maps and arrays. Entries and slots are sorted by the bytes of their
// names. A map uses the shape with its names if the database has one (ShapeDictionary.swift). Any other map
// contains its names.
//
//   integer, timestamp  little-endian, as few bytes as needed with the sign; none for 0
//   double              little-endian, without the low bytes that are zeros
//   string, bytes       as they are
//   reference           project and database, each bytes:varint and UTF-8, then the path
//   geo point           two doubles of 8 bytes
//   vector              doubles of 8 bytes
//   pending timestamp   microseconds:i64, then the previous value, if there was one
//
// Given the shapes, a document has exactly one valid encoding. Readers validate everything: lengths against
// the remaining bytes, depth against the limit, names and strings as UTF-8.

import ByteStore

enum RecordCodec {
  static let unchangedForm: UInt8 = 1
  static let changedForm: UInt8 = 2
  /// Maximum depth of maps and arrays in a document's fields.
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
    /// Offset of the fields.
    var bytes: Int
  }

  /// Encodes a document without shapes.
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
    let decoder = RecordDecoder(record, shapes, shapeBytes: shapes.bytes.rawSpan)
    return try decoder.map(start..<record.byteCount, depth: 0)
  }

  /// Throws if `decodeHead` or `decodeFields` would throw. A valid record is not decoded.
  static func check(_ record: RawSpan, _ shapes: ShapeTable) throws(RecordError) {
    let start = try decodeHead(record).bytes
    let validator = RecordValidator(record, shapes: shapes.bytes.rawSpan)
    guard !validator.isMap(from: start, to: record.byteCount, depth: 0) else { return }
    // Decoding finds the error.
    _ = try decodeFields(record, shapes)
  }

  /// Decodes only the value at a path. Returns nil if the field is absent or a parent is not a map.
  static func value(
    at path: StoredFieldPath, in record: RawSpan, shapes: ShapeTable
  ) throws(RecordError) -> StoredValue? {
    guard let start = Self.fieldsStart(record) else {
      throw RecordError(offset: 0, expected: "a record's head")
    }
    let decoder = RecordDecoder(record, shapes, shapeBytes: shapes.bytes.rawSpan)
    return try decoder.value(at: path.names[...], inMap: start..<record.byteCount, depth: 0)
  }

  /// Offset of the fields; nil if the head is invalid.
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

/// Zigzag encoding, which maps small numbers of either sign to short varints.
enum Zigzag {
  static func encode(_ number: Int64) -> UInt64 { UInt64(bitPattern: number << 1 ^ number >> 63) }

  /// Returns the number and its encoded size.
  static func decode(_ bytes: RawSpan) -> (number: Int64, bytes: Int)? {
    var reader = ByteReader(bytes)
    guard let value = reader.varint(), reader.offset == 1 || bytes.byte(at: reader.offset - 1) != 0 else {
      return nil
    }
    return (Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1), reader.offset)
  }
}

/// Bytes that are not a valid record, with the offset of the error.
package struct RecordError: Error, Equatable {
  static let mapExpected = "a map with names, or with a shape that exists"

  package var offset: Int
  package var expected: String

  package init(offset: Int, expected: String) {
    self.offset = offset
    self.expected = expected
  }
}

extension RecordCodec {
  /// The id of the missing shape that makes a record invalid; nil if the error has another cause.
  static func missingShape(_ error: RecordError, in record: RawSpan, shapes: ShapeTable) -> Int? {
    guard error.expected == RecordError.mapExpected,
      let head = record.varint(at: error.offset, before: record.byteCount)?.value, head > 3
    else { return nil }
    let id = head >> 2 - 1
    guard id <= Shape.idMax else { return nil }
    return shapes.shapes.indices.contains(id) && shapes.shapes[id] != nil ? nil : id
  }
}
