// Stored keys and values of the change feed and of times to live.
//
//   0x03 number:u64-big-endian   an entry of the feed
//     entry     := form:u8=0 time:i64 count:u32 change{count}
//     change    := 1 keyBytes:u16 key recordBytes:u32 record     written
//                | 2 keyBytes:u16 key                            removed
//                | 3 keyBytes:u16 key                            written; the record is not kept here
//   0x04 0x01                    first and next entry of the feed
//     state     := version:u16=0 first:u64 next:u64 bytes:u64
//   0x04 0x02                    consumers of the feed
//     consumers := version:u16=0 count:u16 (text acknowledged:u64){count}
//   0x04 0x03                    fields with times to live
//     policies  := version:u16=0 count:u16 (text names:u16 text{names}){count}
//
// text is bytes:u16 utf8. Integers are little-endian, except in keys. Document keys: DocumentKey.swift.

import ByteStore

enum FeedFormat {
  static let entries: UInt8 = 0x03
  static let settings: UInt8 = 0x04
  static let stateKey: [UInt8] = [settings, 1]
  static let consumersKey: [UInt8] = [settings, 2]
  static let policiesKey: [UInt8] = [settings, 3]
  static let version: UInt16 = 0

  /// The maximum size of an entry with records. A larger entry stores only the paths of its documents.
  static let entryBytesMax = 1 << 20

  private static let written: UInt8 = 1
  private static let removed: UInt8 = 2
  private static let writtenWithMuchElse: UInt8 = 3

  static func key(_ number: UInt64) -> [UInt8] {
    var key = [entries]
    key.append(ordered: number)
    return key
  }

  /// Returns the number of the entry with this key, or nil if the key does not belong to an entry.
  static func number(of key: RawSpan) -> UInt64? {
    var reader = ByteReader(key)
    guard reader.uint8() == entries, reader.bytesLeft == 8 else { return nil }
    return reader.uint64().map(\.byteSwapped)
  }

  // MARK: Entries

  /// A document's key and record; the record is nil for a deletion.
  typealias Change = (key: [UInt8], record: [UInt8]?)

  static func encode(_ changes: [Change], at time: StoredTimestamp) -> [UInt8] {
    let bytes = changes.reduce(0) { $0 + $1.key.count + ($1.record?.count ?? 0) + 7 }
    var entry: [UInt8] = [0]
    entry.reserveCapacity(13 + min(bytes, entryBytesMax))
    entry.append(littleEndian: time.microseconds)
    entry.append(littleEndian: UInt32(changes.count))
    for (key, record) in changes {
      entry.append(record == nil ? removed : bytes > entryBytesMax ? writtenWithMuchElse : written)
      entry.append(littleEndian: UInt16(key.count))
      entry.append(contentsOf: key)
      guard let record, bytes <= entryBytesMax else { continue }
      entry.append(littleEndian: UInt32(record.count))
      entry.append(contentsOf: record)
    }
    return entry
  }

  static func time(of entry: RawSpan) -> StoredTimestamp? {
    var reader = ByteReader(entry)
    guard reader.uint8() == 0, let time = reader.uint64() else { return nil }
    return StoredTimestamp(microseconds: Int64(bitPattern: time))
  }

  /// Decodes an entry. Returns nil if the bytes are not a valid entry.
  static func decode(_ entry: [UInt8], at position: FeedPosition, shapes: ShapeTable) -> FeedCommit? {
    guard let time = time(of: entry.rawSpan) else { return nil }
    var reader = ByteReader(entry.rawSpan)
    guard reader.skip(9), let count = reader.uint32(), Int(count) <= reader.bytesLeft / 3 else { return nil }
    var changes: [FeedChange] = []
    for _ in 0..<count {
      guard let change = change(&reader, shapes) else { return nil }
      changes.append(change)
    }
    return reader.bytesLeft == 0 ? FeedCommit(position: position, time: time, changes: changes) : nil
  }

  private static func change(_ reader: inout ByteReader, _ shapes: ShapeTable) -> FeedChange? {
    guard let tag = reader.uint8(), let keyBytes = reader.uint16(),
      let path = reader.array(Int(keyBytes)).flatMap(DocumentKey.decode)
    else { return nil }
    switch tag {
    case removed: return FeedChange(path: path, outcome: .removed)
    case writtenWithMuchElse: return FeedChange(path: path, outcome: .writtenWithMuchElse)
    case written:
      guard let recordBytes = reader.uint32(), let record = reader.array(Int(recordBytes)),
        let document = try? StoredDocument(path: path, encoded: record, shapes: shapes)
      else { return nil }
      return FeedChange(path: path, outcome: .written(document))
    default: return nil
    }
  }

  // MARK: Settings

  static func encode(_ policies: [String: StoredFieldPath]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: version)
    bytes.append(littleEndian: UInt16(policies.count))
    for (id, field) in policies.sorted(by: { $0.key < $1.key }) {
      append(id, to: &bytes)
      bytes.append(littleEndian: UInt16(field.names.count))
      for name in field.names { append(name, to: &bytes) }
    }
    return bytes
  }

  static func policies(_ bytes: [UInt8]) -> [String: StoredFieldPath]? {
    var reader = ByteReader(bytes.rawSpan)
    guard reader.uint16() == version, let count = reader.uint16() else { return nil }
    var policies: [String: StoredFieldPath] = [:]
    for _ in 0..<count {
      guard let id = text(&reader), let names = reader.uint16(), names > 0 else { return nil }
      var path: [String] = []
      for _ in 0..<names {
        guard let name = text(&reader) else { return nil }
        path.append(name)
      }
      // A time-to-live policy for a reserved collection id cannot be set through the API, and its sweep would
      // delete the store's own documents. Ignore such a policy instead of failing to open the store.
      guard (try? CollectionPath([id])) != nil else { continue }
      policies[id] = StoredFieldPath(unchecked: path)
    }
    return reader.bytesLeft == 0 ? policies : nil
  }

  static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(littleEndian: UInt16(text.utf8.count))
    bytes.append(contentsOf: text.utf8)
  }

  static func text(_ reader: inout ByteReader) -> String? {
    reader.uint16().flatMap { reader.array(Int($0)) }.flatMap { String(validating: $0, as: UTF8.self) }
  }
}
