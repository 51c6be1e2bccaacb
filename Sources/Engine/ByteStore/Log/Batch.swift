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
  /// The encoded operations, and behind them zeros for operations that were announced.
  private var buffer: [UInt8]
  private(set) var bodyBytes = CommitBody.prefixBytes
  /// The earlier lookups of the first operations, with `KeyLookup.none` for an operation without one.
  private(set) var lookups: [KeyLookup] = []

  /// Creates an empty batch. `bytes` is the total size of the operations that will be added, as computed by
  /// `bytes(ofPutOf:for:)` and `bytes(ofRemovalOf:)`. The body is then allocated once, at its exact size,
  /// because the body stays in memory with the commit.
  package init(stamp: UInt64 = 0, bytes: Int = 0) {
    self.stamp = stamp
    buffer = [UInt8](repeating: 0, count: min(CommitBody.prefixBytes + bytes, LogFormat.frameBodyBytesMax))
    unsafe buffer.withUnsafeMutableBytes { unsafe $0.storeBytes(of: stamp.littleEndian, as: UInt64.self) }
  }

  /// The encoded operations.
  package var body: [UInt8] { bodyBytes == buffer.count ? buffer : Array(buffer[..<bodyBytes]) }

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
    try add(Self.bytes(ofPutOf: valueBytes, for: key)) { room in
      room.append(CommitBody.putTag)
      room.append(littleEndian: UInt16(key.count))
      room.append(littleEndian: UInt32(valueBytes))
      room.append(key.rawSpan)
      room.append(head)
      room.append(value)
    }
    puts += 1
    note(lookup)
  }

  package mutating func remove(
    _ key: [UInt8], lookup: KeyLookup = .none
  ) throws(ByteStoreError) {
    try check(key)
    try add(Self.bytes(ofRemovalOf: key)) { room in
      room.append(CommitBody.removeTag)
      room.append(littleEndian: UInt16(key.count))
      room.append(key.rawSpan)
    }
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
    bodyBytes + Self.bytes(ofPutOf: value.count, for: key) <= LogFormat.frameBodyBytesMax
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

  /// Adds an operation of `bytes` bytes, which `write` appends.
  @inline(__always)
  private mutating func add(_ bytes: Int, _ write: (inout Room) -> Void) throws(ByteStoreError) {
    try Self.check(bytes: bodyBytes - CommitBody.prefixBytes + bytes)
    count += 1
    let (start, end) = (bodyBytes, bodyBytes + bytes)
    if buffer.count < end { buffer.append(zeros: end - buffer.count) }
    let number = UInt32(truncatingIfNeeded: count).littleEndian
    unsafe buffer.withUnsafeMutableBytes { buffer in
      // The prefix has room for the number after the stamp.
      unsafe buffer.storeBytes(of: number, toByteOffset: 8, as: UInt32.self)
      var room = unsafe Room(UnsafeMutableRawBufferPointer(rebasing: buffer[start..<end]))
      write(&room)
      room.checkFilled()
    }
    bodyBytes = end
  }

  /// The bytes of one operation.
  ///
  /// Bounds: each append checks the room that is left. The room lies in an array that lends it for the time
  /// of `add`.
  @safe
  private struct Room {
    private var next: UnsafeMutableRawPointer
    private let end: UnsafeMutableRawPointer

    init(_ buffer: UnsafeMutableRawBufferPointer) {
      guard let start = buffer.baseAddress else { preconditionFailure("an operation is not empty") }
      unsafe next = start
      unsafe end = start + buffer.count
    }

    @inline(__always)
    mutating func append(_ span: RawSpan) {
      let bytes = span.byteCount
      precondition(unsafe bytes <= end - next, "an operation has the size that was computed")
      unsafe span.withUnsafeBytes { source in
        if let start = source.baseAddress { unsafe next.copyMemory(from: start, byteCount: bytes) }
      }
      unsafe next += bytes
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) { append(littleEndian: byte) }

    @inline(__always)
    mutating func append<Integer: FixedWidthInteger & BitwiseCopyable>(littleEndian value: Integer) {
      precondition(
        unsafe MemoryLayout<Integer>.size <= end - next, "an operation has the size that was computed")
      unsafe next.storeBytes(of: value.littleEndian, as: Integer.self)
      unsafe next += MemoryLayout<Integer>.size
    }

    func checkFilled() { precondition(unsafe next == end, "an operation has the size that was computed") }
  }
}
