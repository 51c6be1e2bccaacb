// Finds values of JSON without reading them.
//
// The scanner looks at quotes and brackets alone, once and without recursion. Those who read the values check
// the rest.

/// A cursor over a text in JSON.
struct ValueScanner {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool {
    mutating get { next() == nil }
  }

  /// Reads a byte behind white space.
  mutating func expect(_ byte: Unicode.Scalar) throws(ChannelFault) {
    guard skips(byte) else { throw .malformed }
  }

  /// Reads a byte behind white space if it is the given one.
  mutating func skips(_ byte: Unicode.Scalar) -> Bool {
    guard next() == UInt8(ascii: byte) else { return false }
    position += 1
    return true
  }

  /// Reads digits; nil if there are none, or too many for a number of 64 bits.
  mutating func number() -> UInt64? {
    _ = next()
    let start = position
    var number: UInt64 = 0
    while position < bytes.count, case let digit = bytes[position] &- UInt8(ascii: "0"), digit < 10 {
      guard position - start < 18 else { return nil }
      number = number * 10 + UInt64(digit)
      position += 1
    }
    return position > start ? number : nil
  }

  /// Reads a value, and returns its bytes.
  mutating func value() throws(ChannelFault) -> ArraySlice<UInt8> {
    guard let first = next() else { throw .malformed }
    let start = position
    switch first {
    case UInt8(ascii: "{"), UInt8(ascii: "["): try skipNested()
    case UInt8(ascii: "\""): try skipString()
    default: skipWord()
    }
    guard position > start else { throw .malformed }
    return bytes[start..<position]
  }

  private mutating func skipNested() throws(ChannelFault) {
    var depth = 0
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        try skipString()
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      default: break
      }
      position += 1
      if depth == 0 { return }
    }
    throw .malformed
  }

  private mutating func skipString() throws(ChannelFault) {
    position += 1
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\\"): position += 2
      case UInt8(ascii: "\""):
        position += 1
        return
      default: position += 1
      }
    }
    throw .malformed
  }

  /// Skips a number, or one of three words.
  private mutating func skipWord() {
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
        UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "E"):
        position += 1
      default: return
      }
    }
  }

  /// Skips white space, and returns the byte behind it.
  private mutating func next() -> UInt8? {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      default: return bytes[position]
      }
    }
    return nil
  }

  /// The text of a string without escapes; nil if the value is no such string.
  static func string(_ value: ArraySlice<UInt8>) -> String? {
    guard value.count >= 2, value.first == UInt8(ascii: "\""), !value.contains(UInt8(ascii: "\\")) else {
      return nil
    }
    return String(decoding: value.dropFirst().dropLast(), as: UTF8.self)
  }

  /// A number of at most 18 digits; nil if the value is none.
  static func integer(_ value: ArraySlice<UInt8>) -> Int64? {
    var scanner = ValueScanner(Array(value))
    guard let number = scanner.number(), scanner.isAtEnd else { return nil }
    return Int64(number)
  }
}
