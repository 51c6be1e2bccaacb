// Numbers in JSON.
//
//   number := "-"? ("0" | nonzero digit*) ("." digit+)? (("e" | "E") ("+" | "-")? digit+)?
//
// The protobuf mapping accepts each number also as a string, and the strings NaN, Infinity and -Infinity for
// doubles. An integer may have a fraction of zeros and an exponent. It is read without a double in between.

import ByteStore

extension JSONReader {
  /// Reads a number or a string with an integer of 64 bits.
  package mutating func int64() throws(WireError) -> Int64 {
    let start = offset
    let text = try numberText()
    guard let number = DecimalText(text)?.integer else {
      throw problem("there is no integer of 64 bits", at: start)
    }
    return number
  }

  package mutating func int32() throws(WireError) -> Int32 {
    let start = offset
    guard let number = Int32(exactly: try int64()) else {
      throw problem("there is no integer of 32 bits", at: start)
    }
    return number
  }

  /// Reads a number, or a string with a number or the name of a special value. A number beyond the largest
  /// double is refused.
  package mutating func double() throws(WireError) -> Double {
    let start = offset
    let text = String(decoding: try numberText(), as: UTF8.self)
    switch text {
    case "NaN": return .nan
    case "Infinity": return .infinity
    case "-Infinity": return -.infinity
    default:
      guard DecimalText(Array(text.utf8)) != nil, let number = Double(text), number.isFinite else {
        throw problem("there is no double", at: start)
      }
      return number
    }
  }

  /// The bytes of a number, or of a string.
  private mutating func numberText() throws(WireError) -> [UInt8] {
    if nextByte() == UInt8(ascii: "\"") { return try plainString() }
    return Array(copying: bytes.extracting(try numberRange()))
  }

  /// Reads a number, and returns where it is.
  mutating func numberRange() throws(WireError) -> Range<Int> {
    _ = nextByte()
    let start = offset
    var place = start
    while place < bytes.byteCount, Self.isPartOfNumber(byte(at: place)) { place &+= 1 }
    guard DecimalText(Array(copying: bytes.extracting(start..<place))) != nil else {
      throw problem("there is no number", at: start)
    }
    offset = place
    return start..<place
  }

  private static func isPartOfNumber(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "e"), UInt8(ascii: "E"):
      true
    default: false
    }
  }
}
