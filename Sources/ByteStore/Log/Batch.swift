// A commit's operations, in the form in which the log holds them.
//
//   body := stamp:u64 count:u32 operation{count}
//   operation := 1 keyBytes:u16 valueBytes:u32 key value      a put
//              | 2 keyBytes:u16 key                           a removal

/// Puts and removals that happen together or not at all.
package struct Batch: Sendable {
  package static let keyBytesMax = 16 << 10
  package static let valueBytesMax = 8 << 20

  /// A number that the layer above gives to each commit, its time for instance. The store keeps the
  /// largest one and gives it back when it is opened.
  package let stamp: UInt64
  package private(set) var count = 0
  private(set) var body: [UInt8]

  static let prefixBytes = 12

  package init(stamp: UInt64 = 0) {
    self.stamp = stamp
    body = []
    body.append(littleEndian: stamp)
    body.append(littleEndian: UInt32(0))
  }

  package mutating func put(_ value: [UInt8], for key: [UInt8]) throws(ByteStoreError) {
    try check(key)
    guard value.count <= Self.valueBytesMax else {
      throw .tooLarge(what: "A value", limit: Self.valueBytesMax, found: value.count)
    }
    try makeRoom(for: 7 + key.count + value.count)
    body.append(1)
    body.append(littleEndian: UInt16(key.count))
    body.append(littleEndian: UInt32(value.count))
    body.append(contentsOf: key)
    body.append(contentsOf: value)
  }

  package mutating func remove(_ key: [UInt8]) throws(ByteStoreError) {
    try check(key)
    try makeRoom(for: 3 + key.count)
    body.append(2)
    body.append(littleEndian: UInt16(key.count))
    body.append(contentsOf: key)
  }

  private func check(_ key: [UInt8]) throws(ByteStoreError) {
    guard key.count <= Self.keyBytesMax else {
      throw .tooLarge(what: "A key", limit: Self.keyBytesMax, found: key.count)
    }
  }

  private mutating func makeRoom(for bytes: Int) throws(ByteStoreError) {
    guard body.count + bytes <= LogFormat.frameBodyBytesMax else {
      throw .tooLarge(
        what: "A batch", limit: LogFormat.frameBodyBytesMax, found: body.count + bytes)
    }
    count += 1
    for byte in 0..<4 { body[8 + byte] = UInt8(truncatingIfNeeded: count >> (8 * byte)) }
  }

  enum Operation {
    case put(key: [UInt8], value: [UInt8])
    case remove(key: [UInt8])
  }

  /// The operations of a body whose checksum was right, or nil if it is not one: then the writer had
  /// a fault, or the file was made by someone else.
  static func decode(_ body: RawSpan) -> (stamp: UInt64, operations: [Operation])? {
    var reader = ByteReader(body)
    guard let stamp = reader.uint64(), let count = reader.uint32() else { return nil }
    // Each operation takes three bytes at least; a count that cannot be true must not reserve memory.
    guard Int(count) <= reader.bytesLeft / 3 else { return nil }
    var operations: [Operation] = []
    operations.reserveCapacity(Int(count))
    for _ in 0..<count {
      switch reader.uint8() {
      case 1:
        guard let keyBytes = reader.uint16(), let valueBytes = reader.uint32(),
          let key = reader.array(Int(keyBytes)), let value = reader.array(Int(valueBytes))
        else { return nil }
        operations.append(.put(key: key, value: value))
      case 2:
        guard let keyBytes = reader.uint16(), let key = reader.array(Int(keyBytes)) else { return nil }
        operations.append(.remove(key: key))
      default:
        return nil
      }
    }
    guard reader.bytesLeft == 0 else { return nil }
    return (stamp, operations)
  }
}
