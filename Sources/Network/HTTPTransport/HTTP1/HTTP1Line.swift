// Lines that end with CR LF.

/// The state within a line. Refuses line breaks of other forms and control characters, since two programs
/// that read them differently would see different requests.
struct HTTP1Line: Equatable {
  /// The bytes of the line, without its end.
  private(set) var length = 0
  /// Whether the carriage return of the end has arrived.
  private(set) var isEnding = false

  /// Takes the next byte. Returns true if it ends the line.
  mutating func take(_ byte: UInt8) throws(HTTP1Refusal) -> Bool {
    if isEnding {
      guard byte == ASCII.lineFeed else {
        throw .malformed("A carriage return is not followed by a line feed.")
      }
      return true
    }
    if byte == ASCII.carriageReturn {
      isEnding = true
      return false
    }
    guard ASCII.isText(byte) else { throw .malformed("The fields have a control character.") }
    length += 1
    return false
  }
}

/// Classes of bytes in heads.
enum ASCII {
  static let carriageReturn = UInt8(ascii: "\r")
  static let lineFeed = UInt8(ascii: "\n")
  static let space = UInt8(ascii: " ")
  static let tab = UInt8(ascii: "\t")

  /// Whether a byte may be in the value of a field: printable, blank, or not ASCII.
  static func isText(_ byte: UInt8) -> Bool { byte >= space ? byte != 0x7F : byte == tab }

  static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

  static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

  static func isLetter(_ byte: UInt8) -> Bool {
    let lower = byte | 0x20
    return lower >= UInt8(ascii: "a") && lower <= UInt8(ascii: "z")
  }

  /// Whether a byte may be in the name of a field, or in a method.
  static func isToken(_ byte: UInt8) -> Bool {
    if isLetter(byte) || isDigit(byte) { return true }
    switch byte {
    case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
      UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
      return true
    default: return false
    }
  }

  /// The value of a hexadecimal digit.
  static func hexadecimalValue(_ byte: UInt8) -> Int? {
    if isDigit(byte) { return Int(byte - UInt8(ascii: "0")) }
    let lower = byte | 0x20
    guard lower >= UInt8(ascii: "a"), lower <= UInt8(ascii: "f") else { return nil }
    return Int(lower - UInt8(ascii: "a")) + 10
  }

  static func lowercase(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
  }
}
