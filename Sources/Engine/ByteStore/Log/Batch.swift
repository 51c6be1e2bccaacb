// Builds the operations of one commit. CommitBody.swift has the grammar of their encoded form.

/// Puts and removals that are applied atomically.
package struct Batch: Sendable {
  package static let keyBytesMax = 16 << 10
  package static let valueBytesMax = 8 << 20

  /// A number that the upper layer assigns to each commit, such as its time. The store keeps the largest
  /// stamp and returns it after an open.
  package let stamp: UInt64
  package private(set) var count = 0
  private var puts = 0
  package private(set) var body: [UInt8]

  /// Creates an empty batch. `bytes` is the total size of the operations that will be added, as computed by
  /// `bytes(ofPutOf:for:)` and `bytes(ofRemovalOf:)`. The body is then allocated once, at its exact size,
  /// because the body stays in memory with the commit.
  package init(stamp: UInt64 = 0, bytes: Int = 0) {
    self.stamp = stamp
    body = []
    body.reserveCapacity(min(CommitBody.prefixBytes + bytes, LogFormat.frameBodyBytesMax))
    body.append(littleEndian: stamp)
    body.append(littleEndian: UInt32(0))
  }

  package mutating func put(_ value: [UInt8], for key: [UInt8]) throws(ByteStoreError) {
    try put(value.rawSpan, for: key)
  }

  package mutating func put(_ value: RawSpan, for key: [UInt8]) throws(ByteStoreError) {
    try check(key)
    guard value.byteCount <= Self.valueBytesMax else {
      throw .tooLarge(what: "A value", limit: Self.valueBytesMax, found: value.byteCount)
    }
    try makeRoom(for: Self.bytes(ofPutOf: value.byteCount, for: key))
    puts += 1
    body.append(CommitBody.putTag)
    body.append(littleEndian: UInt16(key.count))
    body.append(littleEndian: UInt32(value.byteCount))
    body.append(contentsOf: key)
    body.append(copying: value)
  }

  package mutating func remove(_ key: [UInt8]) throws(ByteStoreError) {
    try check(key)
    try makeRoom(for: Self.bytes(ofRemovalOf: key))
    body.append(CommitBody.removeTag)
    body.append(littleEndian: UInt16(key.count))
    body.append(contentsOf: key)
  }

  /// Whether the batch has room for one more put.
  package func hasRoom(forPutOf value: [UInt8], for key: [UInt8]) -> Bool {
    body.count + Self.bytes(ofPutOf: value.count, for: key) <= LogFormat.frameBodyBytesMax
  }

  /// The encoded size of a put with a value of `valueBytes` bytes.
  package static func bytes(ofPutOf valueBytes: Int, for key: [UInt8]) -> Int { 7 + key.count + valueBytes }

  package static func bytes(ofRemovalOf key: [UInt8]) -> Int { 3 + key.count }

  /// Throws if operations of `bytes` bytes are too large for one batch.
  package static func check(bytes: Int) throws(ByteStoreError) {
    let bytes = CommitBody.prefixBytes + bytes
    guard bytes > LogFormat.frameBodyBytesMax else { return }
    throw .tooLarge(what: "A batch", limit: LogFormat.frameBodyBytesMax, found: bytes)
  }

  /// Whether the batch contains only removals. Such a batch is accepted even if the disk is full.
  var isRemovalOnly: Bool { puts == 0 }

  private func check(_ key: [UInt8]) throws(ByteStoreError) {
    guard key.count <= Self.keyBytesMax else {
      throw .tooLarge(what: "A key", limit: Self.keyBytesMax, found: key.count)
    }
  }

  private mutating func makeRoom(for bytes: Int) throws(ByteStoreError) {
    try Self.check(bytes: body.count - CommitBody.prefixBytes + bytes)
    count += 1
    for byte in 0..<4 { body[8 + byte] = UInt8(truncatingIfNeeded: count >> (8 * byte)) }
  }
}
