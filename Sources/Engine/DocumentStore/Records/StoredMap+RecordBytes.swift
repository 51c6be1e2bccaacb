// Computes an upper limit of a record's size without encoding it.

extension StoredMap {
  /// Upper limit of the encoded size of the fields. The limit is close to the actual size if no shapes are
  /// used.
  package var recordBytesMax: Int {
    var bytes = 0
    for (name, value) in entries {
      let name = name.utf8.count
      bytes += RecordSize.number(name) + name + value.recordBytesMax
    }
    return RecordSize.shape + RecordSize.number(count) + RecordSize.table(count, of: bytes) + bytes
  }
}

extension StoredValue {
  fileprivate var recordBytesMax: Int {
    switch self {
    case .null, .boolean: return 1
    case .integer(let number): return 1 + number.recordBytes
    case .double(let number): return 1 + number.recordBytes
    case .timestamp(let time): return 1 + time.microseconds.recordBytes
    case .pendingTimestamp(_, let previous): return 9 + (previous?.recordBytesMax ?? 0)
    case .string(let text): return 1 + text.utf8.count
    case .bytes(let bytes): return 1 + bytes.count
    case .reference(let reference):
      let (project, database) = (reference.projectID.utf8.count, reference.databaseID.utf8.count)
      let names = RecordSize.number(project) + project + RecordSize.number(database) + database
      return reference.path.segments.reduce(1 + names) { $0 + $1.utf8.count + 1 }
    case .geoPoint: return 17
    case .array(let elements):
      let bytes = elements.reduce(0) { $0 + $1.recordBytesMax }
      return 1 + RecordSize.number(elements.count << 2) + RecordSize.table(elements.count, of: bytes) + bytes
    case .vector(let elements): return 1 + 8 * elements.count
    case .map(let map): return 1 + map.recordBytesMax
    }
  }
}

private enum RecordSize {
  /// Upper limit for the head of a map with a shape.
  static let shape = 3

  /// The size of a varint of up to 35 bits.
  static func number(_ number: Int) -> Int { number < 0x80 ? 1 : number < 0x4000 ? 2 : 5 }

  /// The size of a table for `count` parts that have `bytes` bytes in total. No number in the table exceeds
  /// this total.
  static func table(_ count: Int, of bytes: Int) -> Int {
    max(count - 1, 0) << (bytes > 0xFFFF ? 2 : bytes > 0xFF ? 1 : 0)
  }
}
