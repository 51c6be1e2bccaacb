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
  /// The earlier lookups of the first operations, with `KeyLookup.none` for an operation without one.
  private(set) var lookups: [KeyLookup] = []

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

  package mutating func put(
    _ value: RawSpan, for key: [UInt8], lookup: KeyLookup = .none
  ) throws(ByteStoreError) {
    try put(head: value.extracting(first: 0), body: value, for: key, lookup: lookup)
  }

  /// Adds a put of a value that consists of two parts.
  package mutating func put(
    head: RawSpan, body value: RawSpan, for key: [UInt8], lookup: KeyLookup = .none
  ) throws(ByteStoreError) {
    let valueBytes = head.byteCount + value.byteCount
    try check(key)
    guard valueBytes <= Self.valueBytesMax else {
      throw .tooLarge(what: "A value", limit: Self.valueBytesMax, found: valueBytes)
    }
    try makeRoom(for: Self.bytes(ofPutOf: valueBytes, for: key))
    puts += 1
    // The tag and both sizes have seven bytes together.
    let sizes = UInt64(key.count) << 8 | UInt64(valueBytes) << 24
    body.append(lowest: 7, of: UInt64(CommitBody.putTag) | sizes)
    body.append(contentsOf: key)
    if head.byteCount > 0 { body.append(copying: head) }
    body.append(copying: value)
    note(lookup)
  }

  package mutating func remove(
    _ key: [UInt8], lookup: KeyLookup = .none
  ) throws(ByteStoreError) {
    try check(key)
    try makeRoom(for: Self.bytes(ofRemovalOf: key))
    body.append(CommitBody.removeTag)
    body.append(littleEndian: UInt16(key.count))
    body.append(contentsOf: key)
    note(lookup)
  }

  /// Keeps the lookup of the last operation.
  private mutating func note(_ lookup: KeyLookup) {
    guard lookup.isKnown else { return }
    while lookups.count < count - 1 { lookups.append(.none) }
    lookups.append(lookup)
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
    let number = UInt32(truncatingIfNeeded: count).littleEndian
    // The prefix has room for the number after the stamp.
    unsafe body.withUnsafeMutableBytes { unsafe $0.storeBytes(of: number, toByteOffset: 8, as: UInt32.self) }
  }
}
