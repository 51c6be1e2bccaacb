// Bounds-checked decoding of integers and slices from untrusted bytes, and the matching encoders.

import Libc

/// A cursor over borrowed bytes. Every length is compared with the number of bytes left before the cursor
/// moves, so no input can cause a read out of bounds. All integers are little-endian.
package struct ByteReader: ~Escapable {
  let bytes: RawSpan
  package private(set) var offset = 0

  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan) { self.bytes = bytes }

  package var bytesLeft: Int { bytes.byteCount - offset }

  @inline(__always)
  package mutating func uint8() -> UInt8? { integer(UInt8.self) }
  @inline(__always)
  package mutating func uint16() -> UInt16? { integer(UInt16.self).map(UInt16.init(littleEndian:)) }
  @inline(__always)
  package mutating func uint32() -> UInt32? { integer(UInt32.self).map(UInt32.init(littleEndian:)) }
  @inline(__always)
  package mutating func uint64() -> UInt64? { integer(UInt64.self).map(UInt64.init(littleEndian:)) }

  /// Reads a LEB128 number: seven bits per byte, lowest bits first. The high bit is clear only in the last
  /// byte.
  package mutating func varint() -> UInt64? {
    // Most numbers fit in one byte or two.
    guard let first = uint8() else { return nil }
    if first < 0x80 { return UInt64(first) }
    if let second = uint8() {
      if second < 0x80 { return UInt64(first & 0x7F) | UInt64(second) << 7 }
      offset &-= 1
    }
    offset &-= 1
    return longVarint()
  }

  private mutating func longVarint() -> UInt64? {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      guard let byte = uint8() else { return nil }
      guard shift < 63 || byte <= 1 else { return nil }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
    }
    return nil
  }

  package mutating func randomID() -> RandomID? {
    guard let high = uint64(), let low = uint64() else { return nil }
    return RandomID(high: high, low: low)
  }

  /// Copies the next `count` bytes; returns nil if fewer are left.
  package mutating func array(_ count: Int) -> [UInt8]? {
    guard count >= 0, count <= bytesLeft else { return nil }
    defer { offset += count }
    return Array(copying: bytes.extracting(offset..<offset + count))
  }

  /// Skips the next `count` bytes and returns their range; returns nil if fewer are left.
  @inline(__always)
  package mutating func range(_ count: Int) -> Range<Int>? {
    let start = offset
    return skip(count) ? start..<start + count : nil
  }

  /// Skips `count` bytes; returns false without moving if fewer are left.
  @inline(__always)
  package mutating func skip(_ count: Int) -> Bool {
    guard count >= 0, count <= bytesLeft else { return false }
    offset += count
    return true
  }

  @inline(__always)
  private mutating func integer<Integer: FixedWidthInteger & BitwiseCopyable>(
    _ type: Integer.Type
  ) -> Integer? {
    let size = MemoryLayout<Integer>.size
    guard size <= bytesLeft else { return nil }
    defer { offset &+= size }
    return unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: type)
  }
}

extension [UInt8] {
  package mutating func append(littleEndian value: some FixedWidthInteger) {
    unsafe Swift.withUnsafeBytes(of: value.littleEndian) { unsafe append(contentsOf: $0) }
  }

  /// Appends a LEB128 number: seven bits per byte, lowest bits first. The high bit is clear only in the last
  /// byte.
  package mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }

  /// Appends the `count` lowest bytes of a number, little-endian.
  package mutating func append(lowest count: Int, of number: UInt64) {
    unsafe Swift.withUnsafeBytes(of: number.littleEndian) { bytes in
      unsafe append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
    }
  }

  /// Appends the text in one copy if it is stored as contiguous UTF-8.
  package mutating func append(utf8 text: String) {
    let isDone: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
      unsafe append(contentsOf: bytes)
    }
    if isDone == nil { append(contentsOf: text.utf8) }
  }

  package mutating func append(copying span: RawSpan) {
    unsafe span.withUnsafeBytes { unsafe append(contentsOf: $0) }
  }

  package mutating func append(_ id: RandomID) {
    append(littleEndian: id.high)
    append(littleEndian: id.low)
  }

  /// Appends zeros up to the next multiple of `alignment`.
  package mutating func pad(toMultipleOf alignment: Int) {
    append(zeros: count.roundedUp(toMultipleOf: alignment) - count)
  }

  /// Appends the zeros as one span. A sequence would be appended byte by byte, which dominates an encoder's
  /// time in debug builds.
  package mutating func append(zeros count: Int) {
    guard count <= zeros.count else {
      self += [UInt8](repeating: 0, count: count)
      return
    }
    append(copying: zeros.rawSpan.extracting(first: count))
  }
}

private let zeros = [UInt8](repeating: 0, count: 4096)

extension BinaryInteger {
  package func roundedUp(toMultipleOf alignment: Self) -> Self {
    (self + alignment - 1) / alignment * alignment
  }
}

extension [UInt8] {
  package init(copying span: RawSpan) {
    self = unsafe span.withUnsafeBytes { unsafe Array($0) }
  }

  /// A borrowed view of the array's bytes. The view is safe because a byte has no padding.
  package var rawSpan: RawSpan {
    @_lifetime(borrow self)
    get {
      let view = unsafe span.bytes
      return unsafe _overrideLifetime(view, borrowing: self)
    }
  }
}

extension RawSpan {
  /// Whether this span sorts before `other`. Spans are compared byte by byte; a proper prefix sorts before
  /// the longer span.
  package func precedes(_ other: RawSpan) -> Bool {
    let common = min(byteCount, other.byteCount)
    let order = unsafe withUnsafeBytes { left in
      unsafe other.withUnsafeBytes { right -> Int32 in
        guard let left = left.baseAddress, let right = right.baseAddress else { return 0 }
        return unsafe memcmp(left, right, common)
      }
    }
    return order == 0 ? byteCount < other.byteCount : order < 0
  }

  package func isSame(as other: RawSpan) -> Bool {
    guard byteCount == other.byteCount else { return false }
    return unsafe withUnsafeBytes { left in
      unsafe other.withUnsafeBytes { right in
        guard let left = left.baseAddress, let right = right.baseAddress else { return true }
        return unsafe memcmp(left, right, byteCount) == 0
      }
    }
  }

  /// The number of bytes up to the last byte that is not zero.
  package var byteCountWithoutZeros: Int {
    unsafe withUnsafeBytes { bytes in
      var end = bytes.count
      // Almost the whole capacity of a log can be trailing zeros, so zeros are skipped one word at a time.
      while end >= 8, unsafe bytes.loadUnaligned(fromByteOffset: end - 8, as: UInt64.self) == 0 { end -= 8 }
      while end > 0, unsafe bytes[end - 1] == 0 { end -= 1 }
      return end
    }
  }
}
