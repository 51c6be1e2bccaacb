// Keys of documents in the byte store. They sort like paths.
//
//   key     := 0x02 segment* 0x00
//   segment := 0x01 number:u64-big-endian          a numeric id, its sign bit inverted
//            | 0x02 byte* 0x00 0x01                 any other name; a zero byte in it becomes 0x00 0xFF
//
// Names compare bytewise, and a name sorts before its extensions. Numeric ids sort before all others, by
// number. A document sorts before the documents below it, because the final 0x00 is less than any segment.

import ByteStore
import Libc

enum DocumentKey {
  /// The keyspace of documents. Other keyspaces hold the store's own data.
  static let keyspace: UInt8 = 0x02

  static let end: UInt8 = 0x00
  static let numeric: UInt8 = 0x01
  static let name: UInt8 = 0x02
  static let nameEnd: UInt8 = 0x01
  private static let zero: UInt8 = 0xFF
  private static let zeroByte: UInt8 = 0

  static func encode(_ path: DocumentPath) -> [UInt8] {
    var key: [UInt8] = []
    encode(path, to: &key)
    return key
  }

  /// Replaces the content of `key` with the key of a document, and reuses its memory.
  static func encode(_ path: DocumentPath, to key: inout [UInt8]) {
    let count = bytes(path)
    key.removeAll(keepingCapacity: true)
    key.reserveCapacity(count)
    // The key is written on the stack and appended at once. An array that is created with its size would look
    // up its type at run time.
    let isPlain = unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { plain in
      guard unsafe writePlain(path, into: plain) else { return false }
      unsafe key.append(contentsOf: plain)
      return true
    }
    guard !isPlain else { return }
    key.append(keyspace)
    append(path, to: &key)
  }

  /// Estimated size of the key: the names, the end markers and the keyspace. Exact for most keys.
  static func bytes(_ path: DocumentPath) -> Int {
    var bytes = 2
    for place in path.segments.indices { bytes += path.segments[place].utf8.count + 3 }
    return bytes
  }

  /// Writes the key of a path with plain names: names without zero bytes that are no numeric ids. Returns
  /// false if another segment is met; some bytes are written in that case.
  ///
  /// The buffer must have room for `bytes(path)` bytes. These are as many as are written, because each plain
  /// name takes its bytes and three more.
  private static func writePlain(
    _ path: DocumentPath, into key: UnsafeMutableRawBufferPointer
  ) -> Bool {
    guard var next = key.baseAddress else { return false }
    unsafe next.storeBytes(of: keyspace, as: UInt8.self)
    unsafe next += 1
    for place in path.segments.indices {
      let size = unsafe path.segments[place].utf8.withContiguousStorageIfAvailable { bytes in
        guard let first = bytes.baseAddress, unsafe !bytes.isNumericIDCandidate,
          unsafe memchr(first, 0, bytes.count) == nil
        else { return 0 }
        unsafe next.storeBytes(of: name, as: UInt8.self)
        unsafe (next + 1).copyMemory(from: first, byteCount: bytes.count)
        unsafe next.storeBytes(of: zeroByte, toByteOffset: bytes.count + 1, as: UInt8.self)
        unsafe next.storeBytes(of: nameEnd, toByteOffset: bytes.count + 2, as: UInt8.self)
        return bytes.count + 3
      }
      guard let size, size > 0 else { return false }
      unsafe next += size
    }
    unsafe next.storeBytes(of: end, as: UInt8.self)
    return true
  }

  /// Appends a key without its keyspace.
  static func append(_ path: DocumentPath, to key: inout [UInt8]) {
    for segment in path.segments { append(segment, to: &key) }
    key.append(end)
  }

  /// Appends the key of the document that contains the path's collection; for a root collection, only the
  /// end marker.
  static func append(parentOf path: DocumentPath, to key: inout [UInt8]) {
    for segment in path.segments.dropLast(2) { append(segment, to: &key) }
    key.append(end)
  }

  /// The common prefix of the keys of all documents in a collection, including the documents in their
  /// subcollections.
  static func beginning(of collection: CollectionPath) -> [UInt8] {
    var key = [keyspace]
    for segment in collection.segments { append(segment, to: &key) }
    return key
  }

  /// The common key prefix of the documents in a collection, given the key and the id of one of these
  /// documents.
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

  /// The size of the first segment; nil if there is none.
  static func segmentBytes(_ bytes: RawSpan) -> Int? { segmentEnd(in: bytes, from: 0) }

  /// The end of the segment that begins at `start`; nil if no segment begins there.
  static func segmentEnd(in key: RawSpan, from start: Int) -> Int? {
    guard start < key.byteCount else { return nil }
    switch key.byte(at: start) {
    case numeric: return start + 9 <= key.byteCount ? start + 9 : nil
    case name: return nameEnd(in: key, from: start + 1).map { $0 + 2 }
    default: return nil
    }
  }

  /// The offset of the two-byte end marker of a name; nil if there is none.
  private static func nameEnd(in key: RawSpan, from start: Int) -> Int? {
    var next = start
    while let offset = key.firstZero(from: next), offset + 1 < key.byteCount {
      switch key.byte(at: offset + 1) {
      case nameEnd: return offset
      case zero: next = offset + 2
      default: return nil
      }
    }
    return nil
  }

  /// Whether the document with this key is in a collection with this encoded id. The collection can be at any
  /// depth. The rest of the key is not validated.
  static func isInGroup(_ segment: [UInt8], _ key: RawSpan) -> Bool {
    var collection = 0..<0
    var document = 0..<1
    while let end = segmentEnd(in: key, from: document.upperBound) {
      (collection, document) = (document, document.upperBound..<end)
    }
    return key.extracting(collection).isSame(as: segment.rawSpan)
  }

  static func decode(_ key: [UInt8]) -> DocumentPath? { decode(key.rawSpan) }

  /// The path of a key, or nil if the bytes are not a valid document key.
  static func decode(_ key: RawSpan) -> DocumentPath? {
    guard isOfDocument(key) else { return nil }
    var segments: [String] = []
    segments.reserveCapacity(4)
    var next = 1
    while let segmentEnd = segmentEnd(in: key, from: next) {
      if key.byte(at: next) == numeric {
        segments.append("__id\(key.orderedNumber(at: next + 1))__")
      } else {
        // A numeric id must use the numeric form; otherwise a document could have two keys.
        guard let segment = decodeName(key.extracting(next + 1..<segmentEnd - 2)), segment.numericID == nil
        else { return nil }
        segments.append(segment)
      }
      next = segmentEnd
    }
    guard next + 1 == key.byteCount, key.byte(at: next) == end else { return nil }
    return try? DocumentPath(stored: segments)
  }

  /// Decodes a name without its end marker. In the encoded name, each zero byte is followed by `zero`.
  private static func decodeName(_ bytes: RawSpan) -> String? {
    guard bytes.firstZero(from: 0) != nil else { return String(record: bytes) }
    var name: [UInt8] = []
    var start = 0
    while let offset = bytes.firstZero(from: start) {
      name.append(copying: bytes.extracting(start..<offset + 1))
      start = offset + 2
    }
    name.append(copying: bytes.extracting(start..<bytes.byteCount))
    return String(record: name.rawSpan)
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// Whether the text begins like a numeric id, with two underscores.
  fileprivate var isNumericIDCandidate: Bool {
    unsafe count > 1 && self[0] == UInt8(ascii: "_") && self[1] == UInt8(ascii: "_")
  }
}

extension RawSpan {
  /// The offset of the first zero byte from `start` on; nil if there is none. `start` must not exceed the
  /// size.
  fileprivate func firstZero(from start: Int) -> Int? {
    unsafe extracting(droppingFirst: start).withUnsafeBytes { bytes in
      guard let first = bytes.baseAddress, let zero = unsafe memchr(first, 0, bytes.count) else {
        return nil
      }
      return unsafe start + (UnsafeRawPointer(zero) - first)
    }
  }

  /// Reads eight bytes written by `append(ordered:)`.
  fileprivate func orderedNumber(at offset: Int) -> Int64 {
    let ordered = unsafe UInt64(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    return Int64(bitPattern: ordered ^ (1 << 63))
  }
}

// MARK: Ordered encodings
//
// The encodings sort in the same order as the encoded values. No encoding is a prefix of another encoding, so
// encodings can be concatenated.

extension [UInt8] {
  /// Eight bytes, big-endian.
  mutating func append(ordered number: UInt64) {
    unsafe Swift.withUnsafeBytes(of: number.bigEndian) { unsafe append(contentsOf: $0) }
  }

  /// Eight bytes, big-endian, with the sign bit inverted.
  mutating func append(ordered number: Int64) { append(ordered: UInt64(bitPattern: number) ^ (1 << 63)) }

  /// Appends the text's UTF-8 bytes in the encoding for bytes. Text rarely contains a zero byte, so it is
  /// usually appended in one step.
  mutating func append(ordered text: String) {
    let isDone = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
      guard unsafe !bytes.contains(0) else { return false }
      unsafe append(contentsOf: bytes)
      append(0)
      append(1)
      return true
    }
    if isDone != true { append(ordered: text.utf8) }
  }

  /// Appends the bytes with 0xFF inserted after each zero byte, and then the end marker 0x00 0x01. The end
  /// marker sorts before any continuation.
  mutating func append(ordered bytes: some Sequence<UInt8>) {
    for byte in bytes {
      append(byte)
      if byte == 0 { append(0xFF) }
    }
    append(0)
    append(1)
  }
}
