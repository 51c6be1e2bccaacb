// Strings in JSON.
//
//   string := '"' (character | escape)* '"'     no character below U+0020; UTF-8
//   escape := '\' ('"' | '\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u' four hexadecimal digits)
//
// A character above U+FFFF is a pair of escapes. Half of a pair is refused, because no UTF-8 exists for it.

import ByteStore

extension JSONReader {
  /// Reads a string.
  package mutating func string() throws(WireError) -> String {
    let range = try stringRange()
    let start = range.bytes.lowerBound
    guard range.hasEscapes else { return try text(of: bytes.extracting(range.bytes), at: start) }
    let content = try unescaped(range.bytes)
    return try text(of: content.rawSpan, at: start)
  }

  /// Reads a string of ASCII characters, such as Base64 or a number, and returns its bytes.
  package mutating func plainString() throws(WireError) -> [UInt8] {
    let range = try stringRange()
    return range.hasEscapes ? try unescaped(range.bytes) : Array(copying: bytes.extracting(range.bytes))
  }

  private func text(of span: RawSpan, at start: Int) throws(WireError) -> String {
    let text = unsafe span.withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) }
    guard let text else { throw problem("a string is not UTF-8", at: start) }
    return text
  }

  /// The bytes between the quotes.
  private mutating func stringRange() throws(WireError) -> (bytes: Range<Int>, hasEscapes: Bool) {
    guard nextByte() == UInt8(ascii: "\"") else { throw problem("there is no string") }
    let start = offset &+ 1
    var place = start
    var hasEscapes = false
    while place < bytes.byteCount {
      switch byte(at: place) {
      case UInt8(ascii: "\""):
        offset = place &+ 1
        return (start..<place, hasEscapes)
      case UInt8(ascii: "\\"):
        hasEscapes = true
        place &+= 2
      case 0..<0x20: throw problem("a string has a control character", at: place)
      default: place &+= 1
      }
    }
    throw problem("a string has no end", at: start)
  }

  /// Replaces the escapes. `stringRange()` has found a byte behind each backslash.
  private func unescaped(_ range: Range<Int>) throws(WireError) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(range.count)
    var place = range.lowerBound
    while place < range.upperBound {
      let byte = byte(at: place)
      if byte == UInt8(ascii: "\\") {
        place = try appendEscape(at: place, before: range.upperBound, to: &result)
      } else {
        result.append(byte)
        place &+= 1
      }
    }
    return result
  }

  /// Appends the character of the escape at `place`, and returns the position behind it.
  private func appendEscape(
    at place: Int, before end: Int, to result: inout [UInt8]
  ) throws(WireError) -> Int {
    switch byte(at: place + 1) {
    case UInt8(ascii: "\""): result.append(0x22)
    case UInt8(ascii: "\\"): result.append(0x5C)
    case UInt8(ascii: "/"): result.append(0x2F)
    case UInt8(ascii: "b"): result.append(0x08)
    case UInt8(ascii: "f"): result.append(0x0C)
    case UInt8(ascii: "n"): result.append(0x0A)
    case UInt8(ascii: "r"): result.append(0x0D)
    case UInt8(ascii: "t"): result.append(0x09)
    case UInt8(ascii: "u"):
      let (scalar, next) = try unicodeEscape(at: place, before: end)
      result.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      return next
    default: throw problem("a string has an unknown escape", at: place)
    }
    return place + 2
  }

  private func unicodeEscape(
    at place: Int, before end: Int
  ) throws(WireError) -> (scalar: Unicode.Scalar, next: Int) {
    guard let high = hexadecimal(at: place, before: end) else {
      throw problem("an escape has no four hexadecimal digits", at: place)
    }
    if let scalar = Unicode.Scalar(high) { return (scalar, place + 6) }
    guard (0xD800..<0xDC00).contains(high), let low = hexadecimal(at: place + 6, before: end),
      (0xDC00..<0xE000).contains(low),
      let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
    else { throw problem("a surrogate has no partner", at: place) }
    return (scalar, place + 12)
  }

  /// The four digits of the escape `\u` at `place`; nil if there is none.
  private func hexadecimal(at place: Int, before end: Int) -> UInt32? {
    guard place + 6 <= end, byte(at: place) == UInt8(ascii: "\\"), byte(at: place + 1) == UInt8(ascii: "u")
    else { return nil }
    var value: UInt32 = 0
    for offset in place + 2..<place + 6 {
      guard let digit = Character(Unicode.Scalar(byte(at: offset))).hexDigitValue else { return nil }
      value = value << 4 | UInt32(digit)
    }
    return value
  }
}
