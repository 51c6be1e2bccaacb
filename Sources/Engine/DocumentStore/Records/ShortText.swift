// Creates short strings without a call of the standard library.
//
// On 64-bit systems, a string of up to 15 bytes is its own text: byte `i` of the text is byte `i` of the string,
// and byte 15 holds the length and whether all bytes are ASCII.

import ByteStore

/// A text of up to 15 bytes of UTF-8.
struct ShortText {
  private static let bytesMax = 15

  private let low: UInt64
  private let high: UInt64

  /// Nil if the text is longer.
  @inline(__always)
  init?(_ text: RawSpan) {
    let count = text.byteCount
    guard count <= Self.bytesMax else { return nil }
    low = text.unsigned
    let rest = count > 8 ? text.extracting(droppingFirst: 8).unsigned : 0
    let isASCII = (low | rest) & 0x8080_8080_8080_8080 == 0
    high = rest | ((isASCII ? 0xE0 : 0xA0) | UInt64(truncatingIfNeeded: count)) &<< 56
  }

  /// The string. Nil if strings have another layout. The text must be valid.
  @inline(__always)
  var string: String? {
    #if os(Linux) && _endian(little) && _pointerBitWidth(_64)
    // Any text of up to 15 bytes of valid UTF-8 is a string of this form, which owns no memory.
    return unsafe unsafeBitCast(SIMD2(low, high), to: String.self)
    #else
    return nil
    #endif
  }
}
