// The key under which a document is stored: bytes that sort as paths do.
//
//   key     := 0x02 segment* 0x00
//   segment := 0x01 number:u64-big-endian          a numeric id, its sign bit inverted
//            | 0x02 byte* 0x00 0x01                 any other name; a zero byte in it becomes 0x00 0xFF
//
// Names compare by their bytes, a name before its own extensions, numeric ids before all others and by
// number, a document before the documents below it (the final 0x00 is less than any segment).

import ByteStore

enum DocumentKey {
  /// The keyspace of documents; others are for what the store keeps beside them.
  static let keyspace: UInt8 = 0x02

  private static let end: UInt8 = 0x00
  private static let numeric: UInt8 = 0x01
  private static let name: UInt8 = 0x02
  private static let nameEnd: UInt8 = 0x01
  private static let zero: UInt8 = 0xFF
  private static let zeroByte: UInt8 = 0

  static func encode(_ path: DocumentPath) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(bytes(path))
    key.append(keyspace)
    append(path, to: &key)
    return key
  }

  /// Of most keys: what frames a key and each name in it, and the names.
  static func bytes(_ path: DocumentPath) -> Int { path.segments.reduce(2) { $0 + $1.utf8.count + 3 } }

  /// A key without its keyspace.
  static func append(_ path: DocumentPath, to key: inout [UInt8]) {
    for segment in path.segments { append(segment, to: &key) }
    key.append(end)
  }

  /// The same of the document that the path's collection is below; of none, what ends a key.
  static func append(parentOf path: DocumentPath, to key: inout [UInt8]) {
    for segment in path.segments.dropLast(2) { append(segment, to: &key) }
    key.append(end)
  }

  /// What the keys of all documents in a collection begin with, and of those below them.
  static func beginning(of collection: CollectionPath) -> [UInt8] {
    var key = [keyspace]
    for segment in collection.segments { append(segment, to: &key) }
    return key
  }

  /// The same of the collection of a document, by its key and its id.
  static func beginning(of key: [UInt8], endingWith id: String) -> ArraySlice<UInt8> {
    let segment =
      id.numericID != nil ? 9 : 3 + id.utf8.count + id.utf8.reduce(0) { $1 == zeroByte ? $0 + 1 : $0 }
    return key.dropLast(segment + 1)
  }

  static func append(_ segment: String, to key: inout [UInt8]) {
    if let number = segment.numericID {
      key.append(numeric)
      key.append(ordered: number)
    } else {
      key.append(name)
      key.append(ordered: segment)
    }
  }

  static func isOfDocument(_ key: RawSpan) -> Bool { key.byteCount > 0 && key.byte(at: 0) == keyspace }

  /// How many bytes the first segment takes; nil if there is none.
  static func segmentBytes(_ bytes: RawSpan) -> Int? {
    var reader = ByteReader(bytes)
    switch reader.uint8() {
    case numeric: return reader.skip(8) ? reader.offset : nil
    case name:
      while let byte = reader.uint8() {
        guard byte == 0 else { continue }
        switch reader.uint8() {
        case zero: continue
        case nameEnd: return reader.offset
        default: return nil
        }
      }
      return nil
    default: return nil
    }
  }

  /// The path of a key, or nil for bytes that are not the key of a document.
  static func decode(_ key: [UInt8]) -> DocumentPath? {
    var rest = key[...]
    guard rest.popFirst() == keyspace else { return nil }
    var segments: [String] = []
    while let tag = rest.popFirst() {
      switch tag {
      case end:
        guard rest.isEmpty else { return nil }
        return try? DocumentPath(stored: segments)
      case numeric:
        guard rest.count >= 8 else { return nil }
        let ordered = rest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        segments.append("__id\(Int64(bitPattern: ordered ^ (1 << 63)))__")
        rest.removeFirst(8)
      case name:
        // A numeric id has a form of its own; as text it would be a second key of the same document.
        guard let segment = decodeName(&rest), segment.numericID == nil else { return nil }
        segments.append(segment)
      default:
        return nil
      }
    }
    return nil
  }

  private static func decodeName(_ rest: inout ArraySlice<UInt8>) -> String? {
    var bytes: [UInt8] = []
    while let byte = rest.popFirst() {
      guard byte == 0 else {
        bytes.append(byte)
        continue
      }
      switch rest.popFirst() {
      case zero: bytes.append(0)
      case nameEnd: return String(record: bytes.rawSpan)
      default: return nil
      }
    }
    return nil
  }
}
