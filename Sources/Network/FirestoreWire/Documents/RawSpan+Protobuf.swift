// Reads single numbers and sizes in protobuf messages, without errors: for readers that give up at anything
// unusual.

extension RawSpan {
  /// The byte at an offset, which is below the number of bytes.
  @inline(__always)
  func byte(_ offset: Int) -> UInt8 { unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self) }

  @inline(__always)
  func littleEndianWord(_ offset: Int) -> UInt64 {
    unsafe UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// Reads a number of at most 64 bits. Nil if it has more, or does not end before `end`.
  @inline(__always)
  func varint(_ offset: Int, before end: Int) -> (value: UInt64, next: Int)? {
    guard offset < end else { return nil }
    let first = byte(offset)
    return first < 0x80 ? (UInt64(first), offset &+ 1) : longVarint(offset, before: end)
  }

  @inline(never)
  private func longVarint(_ offset: Int, before end: Int) -> (value: UInt64, next: Int)? {
    var value: UInt64 = 0
    for index in 0..<min(10, end &- offset) {
      let byte = byte(offset &+ index)
      guard index < 9 || byte <= 1 else { return nil }
      value |= UInt64(byte & 0x7F) &<< UInt64(truncatingIfNeeded: 7 &* index)
      if byte < 0x80 { return (value, offset &+ index &+ 1) }
    }
    return nil
  }

  /// Reads a size, and returns the range of as many bytes behind it. Nil unless they end at or before `end`.
  @inline(__always)
  func sized(_ offset: Int, before end: Int) -> Range<Int>? {
    guard let (size, start) = varint(offset, before: end), size <= UInt64(truncatingIfNeeded: end &- start)
    else { return nil }
    return unsafe Range(uncheckedBounds: (start, start &+ Int(truncatingIfNeeded: size)))
  }

  /// Whether the bytes of a text are at an offset.
  func has(_ text: StaticString, at offset: Int) -> Bool {
    let count = text.utf8CodeUnitCount
    guard offset >= 0, byteCount - offset >= count else { return false }
    return text.withUTF8Buffer { text in
      for index in 0..<count where unsafe text[index] != byte(offset + index) { return false }
      return true
    }
  }
}
