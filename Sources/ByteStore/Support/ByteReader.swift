// Reading integers and slices from bytes that nobody vouches for: every step says whether it fits.

/// A cursor over borrowed bytes. Lengths are compared with what is left before anything moves, so
/// that no input can make it read outside its bytes; all integers are little-endian.
package struct ByteReader: ~Escapable {
  private let bytes: RawSpan
  package private(set) var offset = 0

  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan) { self.bytes = bytes }

  package var bytesLeft: Int { bytes.byteCount - offset }

  package mutating func uint8() -> UInt8? { integer(UInt8.self) }
  package mutating func uint16() -> UInt16? { integer(UInt16.self).map(UInt16.init(littleEndian:)) }
  package mutating func uint32() -> UInt32? { integer(UInt32.self).map(UInt32.init(littleEndian:)) }
  package mutating func uint64() -> UInt64? { integer(UInt64.self).map(UInt64.init(littleEndian:)) }

  package mutating func randomID() -> RandomID? {
    guard let high = uint64(), let low = uint64() else { return nil }
    return RandomID(high: high, low: low)
  }

  /// A copy of the next `count` bytes, or nil if there are fewer.
  package mutating func array(_ count: Int) -> [UInt8]? {
    guard count >= 0, count <= bytesLeft else { return nil }
    defer { offset += count }
    return Array(copying: bytes.extracting(offset..<offset + count))
  }

  /// Where the next `count` bytes are, passing over them, or nil if there are fewer.
  package mutating func range(_ count: Int) -> Range<Int>? {
    let start = offset
    return skip(count) ? start..<start + count : nil
  }

  /// Passes over `count` bytes; false, and nothing passed, if there are fewer.
  package mutating func skip(_ count: Int) -> Bool {
    guard count >= 0, count <= bytesLeft else { return false }
    offset += count
    return true
  }

  private mutating func integer<Integer: FixedWidthInteger & BitwiseCopyable>(
    _ type: Integer.Type
  ) -> Integer? {
    let size = MemoryLayout<Integer>.size
    guard size <= bytesLeft else { return nil }
    defer { offset += size }
    return unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: type)
  }
}

extension [UInt8] {
  package mutating func append(littleEndian value: some FixedWidthInteger) {
    unsafe Swift.withUnsafeBytes(of: value.littleEndian) { unsafe append(contentsOf: $0) }
  }

  package mutating func append(_ id: RandomID) {
    append(littleEndian: id.high)
    append(littleEndian: id.low)
  }

  /// Zeros up to the next multiple of `alignment`.
  package mutating func pad(toMultipleOf alignment: Int) {
    append(contentsOf: repeatElement(0, count: count.roundedUp(toMultipleOf: alignment) - count))
  }
}

extension BinaryInteger {
  package func roundedUp(toMultipleOf alignment: Self) -> Self {
    (self + alignment - 1) / alignment * alignment
  }
}

extension [UInt8] {
  package init(copying span: RawSpan) {
    self = unsafe span.withUnsafeBytes { unsafe Array($0) }
  }

  /// The bytes, borrowed. A byte has no padding, so that the view is safe.
  package var rawSpan: RawSpan {
    @_lifetime(borrow self)
    get {
      let view = unsafe span.bytes
      return unsafe _overrideLifetime(view, borrowing: self)
    }
  }
}
