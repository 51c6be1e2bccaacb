// Base64 (RFC 4648), in which JSON contains bytes.

/// Encodes with the standard alphabet and padding. Decodes both alphabets, with or without padding.
package enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let padding = UInt8(ascii: "=")

  package static func encode(_ bytes: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let missing = 3 - group.count
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * missing)
      for place in 0..<4 - missing { text.append(alphabet[bits >> (18 - 6 * place) & 0x3F]) }
      for _ in 0..<missing { text.append(padding) }
    }
    return text
  }

  /// Nil unless the text is Base64. Bits behind the last byte are ignored.
  package static func decode(_ text: [UInt8]) -> [UInt8]? {
    let digits = text.prefix { $0 != padding }
    let paddingCount = text.count - digits.count
    guard digits.count % 4 != 1, text.dropFirst(digits.count).allSatisfy({ $0 == padding }),
      paddingCount == 0 || (paddingCount <= 2 && text.count % 4 == 0)
    else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 4 * 3 + 2)
    var bits: UInt32 = 0
    var bitCount = 0
    for digit in digits {
      guard let value = value(of: digit) else { return nil }
      bits = bits << 6 | value
      bitCount += 6
      guard bitCount >= 8 else { continue }
      bitCount -= 8
      bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
    }
    return bytes
  }

  private static func value(of digit: UInt8) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
    case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
