// Whether bytes are a record, found out without making anything of them:
//
//   check(bytes) throws  ⇔  decodeHead(bytes) or decodeFields(bytes) throws

import ByteStore

extension RecordCodec {
  static func check(_ record: RawSpan) throws(RecordError) {
    _ = try decodeHead(record)
    var reader = ByteReader(record)
    guard reader.skip(headBytes) else { throw RecordError(offset: 0, expected: "a record's head") }
    try checkMap(record, &reader, depth: 0)
    guard reader.bytesLeft == 0 else {
      throw RecordError(offset: reader.offset, expected: "the end of the record")
    }
  }

  private static func checkMap(
    _ record: RawSpan, _ reader: inout ByteReader, depth: Int
  ) throws(RecordError) {
    let start = reader.offset
    guard let count = reader.uint32(), Int(count) <= reader.bytesLeft / 7 else {
      throw RecordError(offset: start, expected: "a number of fields that the record has room for")
    }
    var offsets = reader
    guard reader.skip(4 * Int(count)) else {
      throw RecordError(offset: start, expected: "an offset for each field")
    }
    var last: Range<Int>?
    for _ in 0..<count {
      let offset = reader.offset
      guard offsets.uint32().map(Int.init) == offset - start else {
        throw RecordError(offset: offset, expected: "a field whose offset leads here")
      }
      guard let size = reader.uint16(), Int(size) <= nameBytesMax, let name = reader.range(Int(size)),
        UTF8Check.isValid(record.extracting(name)),
        last.map({ record.extracting($0).precedes(record.extracting(name)) }) ?? true
      else { throw RecordError(offset: offset, expected: "a field's name, in order") }
      last = name
      try checkValue(record, &reader, depth: depth)
    }
  }

  private static func checkValue(
    _ record: RawSpan, _ reader: inout ByteReader, depth: Int
  ) throws(RecordError) {
    let offset = reader.offset
    guard let tag = reader.uint8().flatMap(Tag.init(rawValue:)) else {
      throw RecordError(offset: offset, expected: "a value's tag")
    }
    if isScalar(tag, record, &reader) { return }
    guard tag == .array || tag == .map, depth < depthMax, let size = reader.uint32(),
      Int(size) <= reader.bytesLeft
    else {
      throw RecordError(offset: offset, expected: "a value with tag \(tag), at most \(depthMax) deep")
    }
    let end = reader.offset + Int(size)
    if tag == .map {
      try checkMap(record, &reader, depth: depth + 1)
    } else {
      guard let count = reader.uint32(), Int(count) <= reader.bytesLeft else {
        throw RecordError(offset: reader.offset, expected: "a number of elements that fit")
      }
      for _ in 0..<count { try checkValue(record, &reader, depth: depth + 1) }
    }
    guard reader.offset == end else {
      throw RecordError(offset: reader.offset, expected: "the end of a \(tag) at \(end)")
    }
  }

  /// False for an array or a map, and for bytes that are not such a value.
  private static func isScalar(_ tag: Tag, _ record: RawSpan, _ reader: inout ByteReader) -> Bool {
    switch tag {
    case .string:
      guard let count = reader.uint32(), let range = reader.range(Int(count)) else { return false }
      return UTF8Check.isValid(record.extracting(range))
    case .bytes:
      guard let count = reader.uint32() else { return false }
      return reader.skip(Int(count))
    case .vector:
      guard let count = reader.uint32(), Int(count) <= reader.bytesLeft / 8 else { return false }
      return reader.skip(8 * Int(count))
    case .null, .false, .true, .integer, .double, .timestamp, .geoPoint, .reference:
      return decodeScalar(tag, &reader) != nil
    case .array, .map: return false
    }
  }
}
