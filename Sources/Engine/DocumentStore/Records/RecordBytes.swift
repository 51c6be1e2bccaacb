// Reads numbers in the bytes of a record.
//
// The caller must have checked the bounds, unless a function's comment says that the function checks them.

import Libc

extension RawSpan {
  @inlinable @inline(__always)
  func byte(at offset: Int) -> UInt8 { unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self) }

  /// Reads a number of 1, 2 or 4 bytes.
  @inlinable @inline(__always)
  func number(at offset: Int, width: Int) -> Int {
    switch width {
    case 1: Int(byte(at: offset))
    case 2: Int(unsafe UInt16(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self)))
    default: Int(unsafe UInt32(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    }
  }

  /// Reads one byte without a bounds check, like `uncheckedNumber`.
  @unsafe @inlinable @inline(__always)
  func uncheckedByte(at offset: Int) -> Int {
    unsafe Int(unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt8.self))
  }

  /// Reads a number without a bounds check. The caller must have compared the offset with the size.
  @unsafe @inlinable @inline(__always)
  func uncheckedNumber(at offset: Int, width: Int) -> Int {
    switch width {
    case 1: unsafe Int(unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt8.self))
    case 2:
      unsafe Int(UInt16(littleEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt16.self)))
    default:
      unsafe Int(UInt32(littleEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt32.self)))
    }
  }

  @inlinable @inline(__always)
  func word(at offset: Int) -> UInt64 {
    unsafe UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// Reads eight bytes without a bounds check, like `uncheckedNumber`.
  @unsafe @inlinable @inline(__always)
  func uncheckedWord(at offset: Int) -> UInt64 {
    unsafe UInt64(littleEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
  }

  /// Reads a number below 2^35. Returns the number and the offset after it; nil if the encoding is invalid or
  /// does not end before `end`.
  @inlinable @inline(__always)
  func varint(at offset: Int, before end: Int) -> (value: Int, next: Int)? {
    guard offset < end else { return nil }
    let first = Int(byte(at: offset))
    return first < 0x80 ? (first, offset + 1) : longVarint(at: offset, before: end)
  }

  @usableFromInline
  func longVarint(at offset: Int, before end: Int) -> (value: Int, next: Int)? {
    var value = 0
    for index in 0..<min(5, end - offset) {
      let byte = Int(byte(at: offset + index))
      value |= (byte & 0x7F) << (7 * index)
      guard byte < 0x80 else { continue }
      // Only the shortest encoding is valid.
      return byte > 0 ? (value, offset + index + 1) : nil
    }
    return nil
  }

  /// The sum of the first `count` numbers of a table.
  @inlinable
  func sum(of count: Int, numbersAt table: Int, width: Int) -> Int {
    var sum = 0
    var index = 0
    if width == 1 {
      while count - index >= 8 {
        let word = word(at: table + index)
        // Add adjacent bytes in pairs; the multiplication then sums the four pairs into the highest 16
        // bits.
        let pairs = word & 0x00FF_00FF_00FF_00FF &+ (word >> 8) & 0x00FF_00FF_00FF_00FF
        sum += Int(truncatingIfNeeded: (pairs &* 0x0001_0001_0001_0001) >> 48)
        index += 8
      }
    }
    while index < count {
      sum += number(at: table + index * width, width: width)
      index += 1
    }
    return sum
  }

  /// Decodes a number of zero to eight bytes; an empty span is 0.
  @inlinable @inline(__always)
  var unsigned: UInt64 {
    let count = byteCount
    if count >= 8 { return word(at: 0) }
    if count >= 4 {
      let high = unsafe UInt64(truncatingIfNeeded: uncheckedNumber(at: count - 4, width: 4))
      return unsafe UInt64(truncatingIfNeeded: uncheckedNumber(at: 0, width: 4)) | high
        &<< UInt64(truncatingIfNeeded: 8 &* (count &- 4))
    }
    if count >= 2 {
      let high = unsafe UInt64(truncatingIfNeeded: uncheckedNumber(at: count - 2, width: 2))
      return unsafe UInt64(truncatingIfNeeded: uncheckedNumber(at: 0, width: 2)) | high
        &<< UInt64(truncatingIfNeeded: 8 &* (count &- 2))
    }
    return count == 1 ? unsafe UInt64(truncatingIfNeeded: uncheckedNumber(at: 0, width: 1)) : 0
  }

  @inlinable @inline(__always)
  var signed: Int64 {
    guard byteCount > 0 else { return 0 }
    let unused = UInt64(truncatingIfNeeded: 64 &- 8 &* byteCount)
    return Int64(bitPattern: unsigned &<< unused) &>> Int64(bitPattern: unused)
  }

  /// The bit pattern of a double whose missing low bytes are zeros.
  @inlinable @inline(__always)
  var doubleBits: UInt64 { byteCount > 0 ? unsigned &<< UInt64(truncatingIfNeeded: 64 &- 8 &* byteCount) : 0 }

  /// Negative, zero or positive if these bytes sort before, equal, or sort after the others.
  func compare(with other: RawSpan) -> Int {
    let common = min(byteCount, other.byteCount)
    let order = unsafe withUnsafeBytes { left in
      unsafe other.withUnsafeBytes { right -> Int in
        guard let left = left.baseAddress, let right = right.baseAddress else { return 0 }
        return unsafe Int(memcmp(left, right, common))
      }
    }
    return order == 0 ? byteCount - other.byteCount : order
  }
}

extension Int64 {
  /// Number of bytes that the number needs with its sign; zero bytes for 0.
  var recordBytes: Int {
    self == 0 ? 0 : (72 - (self < 0 ? ~self : self).leadingZeroBitCount) / 8
  }
}

extension Double {
  /// Number of bytes without the trailing zero bytes.
  var recordBytes: Int { 8 - bitPattern.trailingZeroBitCount / 8 }
}
