// The body of a commit's frame: the encoded form of a batch, decoded again when the WAL is replayed.
//
//   body := stamp:u64 count:u32 operation{count}
//   operation := 1 keyBytes:u16 valueBytes:u32 key value      a put
//              | 2 keyBytes:u16 key                           a removal

/// A validated commit body. Offsets and ranges refer to `bytes`.
package struct CommitBody {
  static let empty = CommitBody(trusted: [])
  static let prefixBytes = 12
  static let putTag: UInt8 = 1
  static let removeTag: UInt8 = 2

  package let bytes: [UInt8]

  /// Creates a commit body from bytes that a batch encoded, without checking them.
  package init(trusted bytes: [UInt8]) { self.bytes = bytes }

  /// Decodes bytes whose checksum matched. Returns nil if no batch can have encoded these bytes, which
  /// happens only after a bug in the writer or with a crafted file. A key or value above the limits of a
  /// batch is rejected too, because it would be too large for a segment.
  package init?(decoding bytes: [UInt8]) {
    self.bytes = bytes
    guard let count = Self.count(in: bytes) else { return nil }
    var offset = Self.prefixBytes
    for _ in 0..<count {
      guard let operation = Self.operation(in: bytes, at: &offset), operation.key.count <= Batch.keyBytesMax
      else { return nil }
      if case .put(_, _, let value) = operation, value.count > Batch.valueBytesMax { return nil }
    }
    guard offset == bytes.count else { return nil }
  }

  package var stamp: UInt64 {
    var reader = ByteReader(bytes.rawSpan)
    return reader.uint64() ?? 0
  }

  /// The number of operations.
  var count: Int { Self.count(in: bytes).map { Int($0) } ?? 0 }

  package enum Operation {
    case put(offset: Int, key: Range<Int>, value: Range<Int>)
    case remove(key: Range<Int>)

    package var key: Range<Int> {
      switch self {
      case .put(_, let key, _), .remove(let key): key
      }
    }
  }

  /// The operations in commit order. They form a sequence, so that a loop over them may modify the key
  /// directory. If a closure were used instead, Swift would retain and release all parts of the key directory
  /// for each key.
  package var operations: Operations { Operations(bytes) }

  package struct Operations: Sequence, IteratorProtocol {
    private let bytes: [UInt8]
    private var offset = CommitBody.prefixBytes
    private var left: UInt32

    fileprivate init(_ bytes: [UInt8]) {
      guard let count = CommitBody.count(in: bytes) else { Self.fail() }
      self.bytes = bytes
      left = count
    }

    package mutating func next() -> Operation? {
      guard left > 0 else {
        if offset != bytes.count { Self.fail() }
        return nil
      }
      left -= 1
      guard let operation = CommitBody.operation(in: bytes, at: &offset) else { Self.fail() }
      return operation
    }

    private static func fail() -> Never { preconditionFailure("a body was checked, or encoded by a batch") }
  }

  private static func count(in bytes: [UInt8]) -> UInt32? {
    var reader = ByteReader(bytes.rawSpan)
    return reader.skip(8) ? reader.uint32() : nil
  }

  /// Decodes the operation at `offset` and advances `offset` to the next one; returns nil for invalid
  /// bytes.
  @inline(__always)
  private static func operation(in bytes: [UInt8], at offset: inout Int) -> Operation? {
    var reader = ByteReader(bytes.rawSpan)
    guard reader.skip(offset) else { return nil }
    let operation: Operation
    switch reader.uint8() {
    case putTag:
      guard let keyBytes = reader.uint16(), let valueBytes = reader.uint32(),
        let key = reader.range(Int(keyBytes)), let value = reader.range(Int(valueBytes))
      else { return nil }
      operation = .put(offset: offset, key: key, value: value)
    case removeTag:
      guard let keyBytes = reader.uint16(), let key = reader.range(Int(keyBytes)) else { return nil }
      operation = .remove(key: key)
    default:
      return nil
    }
    offset = reader.offset
    return operation
  }

  // MARK: Access to a put

  func value(ofPutAt offset: Int) -> [UInt8] { Array(bytes[put(at: offset).value]) }

  func key(ofPutAt offset: Int) -> ArraySlice<UInt8> { bytes[put(at: offset).key] }

  func isKey(_ key: RawSpan, ofPutAt offset: Int) -> Bool {
    key.isSame(as: bytes.rawSpan.extracting(put(at: offset).key))
  }

  /// The range of a put's value in `bytes`.
  func valueRange(ofPutAt offset: Int) -> Range<Int> { put(at: offset).value }

  /// The range of a put's key, and of the value that directly follows it.
  func ranges(ofPutAt offset: Int) -> (key: Range<Int>, value: Range<Int>) { put(at: offset) }

  private func put(at offset: Int) -> (key: Range<Int>, value: Range<Int>) {
    var reader = ByteReader(bytes.rawSpan)
    guard reader.skip(offset), reader.uint8() == Self.putTag, let keyBytes = reader.uint16(),
      let valueBytes = reader.uint32(), let key = reader.range(Int(keyBytes)),
      let value = reader.range(Int(valueBytes))
    else { preconditionFailure("a location is the start of a put") }
    return (key, value)
  }
}
