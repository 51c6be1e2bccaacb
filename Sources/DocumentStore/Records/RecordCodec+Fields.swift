// One field of a record, found without decoding the others.

import ByteStore

extension RecordCodec {
  /// The value at a path; nil if there is none, or something on the way is no map.
  static func value(
    at path: StoredFieldPath, in record: RawSpan
  ) throws(RecordError) -> StoredValue? {
    guard record.byteCount >= headBytes else { throw RecordError(offset: 0, expected: "a record's head") }
    var start = headBytes
    var depth = 0
    for name in path.names.dropLast() {
      guard let place = try place(of: name, inMapAt: start, record) else { return nil }
      var reader = ByteReader(record.extracting(droppingFirst: place))
      guard reader.uint8() == Tag.map.rawValue else { return nil }
      start = place + 5
      depth += 1
    }
    guard let name = path.names.last, let place = try place(of: name, inMapAt: start, record) else {
      return nil
    }
    var reader = ByteReader(record)
    _ = reader.skip(place)
    return try decodeValue(&reader, depth: depth)
  }

  /// Where the value of a name begins, found by bisection.
  private static func place(
    of name: String, inMapAt start: Int, _ record: RawSpan
  ) throws(RecordError) -> Int? {
    guard start <= record.byteCount else { throw RecordError(offset: start, expected: "a map") }
    var reader = ByteReader(record.extracting(droppingFirst: start))
    guard let count = reader.uint32(), Int(count) <= reader.bytesLeft / 7 else {
      throw RecordError(offset: start, expected: "a number of fields that the record has room for")
    }
    var low = 0
    var high = Int(count)
    while low < high {
      let middle = (low + high) / 2
      var offsets = ByteReader(record.extracting(droppingFirst: start + 4 + 4 * middle))
      guard let offset = offsets.uint32(), start + Int(offset) <= record.byteCount else {
        throw RecordError(offset: start, expected: "an offset within the record")
      }
      var entry = ByteReader(record.extracting(droppingFirst: start + Int(offset)))
      guard let size = entry.uint16(), let range = entry.range(Int(size)) else {
        throw RecordError(offset: start + Int(offset), expected: "a field's name")
      }
      let found = record.extracting(droppingFirst: start + Int(offset)).extracting(range)
      let order = found.compare(with: name)
      if order == 0 { return start + Int(offset) + range.upperBound }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return nil
  }
}

extension RawSpan {
  /// Negative, zero or positive, as these bytes come before, are, or come after the name's.
  func compare(with name: String) -> Int {
    var name = name
    return name.withUTF8 { other in
      let other = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(other))
      if precedes(other) { return -1 }
      return isSame(as: other) ? 0 : 1
    }
  }
}
