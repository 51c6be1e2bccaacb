// Validates UTF-8 without creating a string.
//
//   text  := (00...7F | two | three | four)*
//   two   := C2...DF tail
//   three := E0 A0...BF tail | E1...EC tail tail | ED 80...9F tail | EE...EF tail tail
//   four  := F0 90...BF tail tail | F1...F3 tail tail tail | F4 80...8F tail tail
//   tail  := 80...BF

import ByteStore

enum UTF8Check {
  private static let highBits: UInt64 = 0x8080_8080_8080_8080

  @inline(__always)
  static func isValid(_ bytes: RawSpan) -> Bool { isASCII(bytes) || isValidSequence(bytes) }

  @inline(__always)
  static func isASCII(_ bytes: RawSpan) -> Bool {
    guard bytes.byteCount >= 8 else { return bytes.unsigned & highBits == 0 }
    // The last word overlaps the word before it, unless the size is a multiple of eight.
    let last = bytes.byteCount &- 8
    var bits = unsafe bytes.uncheckedWord(at: last)
    var offset = 0
    while offset < last {
      unsafe bits |= bytes.uncheckedWord(at: offset)
      offset &+= 8
    }
    return bits & highBits == 0
  }

  @inline(never)
  private static func isValidSequence(_ bytes: RawSpan) -> Bool {
    var offset = 0
    while offset < bytes.byteCount {
      if bytes.byteCount &- offset >= 8 {
        // Skip the ASCII bytes at the beginning of the word.
        let ascii = unsafe (bytes.uncheckedWord(at: offset) & highBits).trailingZeroBitCount >> 3
        offset &+= ascii
        if ascii > 0 { continue }
      }
      let size = characterBytes(word(of: bytes, at: offset))
      guard size > 0 else { return false }
      offset &+= size
    }
    return true
  }

  /// Up to four bytes as a number. Zeros follow the last byte; no character of several bytes contains a zero.
  @inline(__always)
  private static func word(of bytes: RawSpan, at offset: Int) -> UInt32 {
    let count = bytes.byteCount &- offset
    guard count < 4 else {
      return unsafe UInt32(truncatingIfNeeded: bytes.uncheckedNumber(at: offset, width: 4))
    }
    return UInt32(truncatingIfNeeded: bytes.extracting(offset..<bytes.byteCount).unsigned)
  }

  /// The number of bytes of the first character of the word, which has the first byte in its lowest bits.
  /// Returns 0 if there is no valid character.
  @inline(__always)
  private static func characterBytes(_ word: UInt32) -> Int {
    if word & 0x80 == 0 { return 1 }
    // E0...EF and two tails. The masked bits are 0 in a code point below U+0800, and 0x200D in a surrogate.
    if word & 0x00C0_C0F0 == 0x0080_80E0 {
      let bits = word & 0x0000_200F
      return bits != 0 && bits != 0x0000_200D ? 3 : 0
    }
    // C0...DF and one tail. The masked bits are 0 in a code point below U+0080.
    if word & 0x0000_C0E0 == 0x0000_80C0 { return word & 0x0000_001E != 0 ? 2 : 0 }
    // F0...F7 and three tails. The masked bits are 0 in a code point below U+10000. F4 is followed by
    // 80...8F, and higher first bytes are invalid.
    guard word & 0xC0C0_C0F8 == 0x8080_80F0, word & 0x0000_3007 != 0 else { return 0 }
    return word & 0x04 == 0 || word & 0x0000_3003 == 0 ? 4 : 0
  }
}
