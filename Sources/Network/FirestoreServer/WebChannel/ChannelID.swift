// The id of a session, which is also the right to use it.

internal import ByteStore

/// The id of a session: 128 random bits, as 32 hexadecimal digits.
struct ChannelID: Hashable, Sendable {
  private let high: UInt64
  private let low: UInt64

  init(_ random: any RandomSource) {
    let id = random.randomID()
    high = id.high
    low = id.low
  }

  /// Nil if the text has another form.
  init?(_ text: [UInt8]) {
    guard text.count == 32, let high = Self.number(text[..<16]), let low = Self.number(text[16...]) else {
      return nil
    }
    self.high = high
    self.low = low
  }

  var text: String { Self.digits(high) + Self.digits(low) }

  private static func digits(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    for digit in digits {
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"):
        number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
      default: return nil
      }
    }
    return number
  }
}
