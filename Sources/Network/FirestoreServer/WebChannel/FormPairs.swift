// The pairs of a form, as in the body of a POST or in the query of a target.
//
//   form := [pair *("&" pair)]
//   pair := key ["=" value]
//
// Keys and values are percent-encoded, and a plus sign stands for a space.

internal import OfflineSync

/// Reads pairs in order.
struct FormPairs {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The next pair; nil at the end. Empty pairs are skipped.
  mutating func next() throws(RemoteError) -> (key: [UInt8], value: [UInt8])? {
    while position < bytes.count {
      let end = bytes[position...].firstIndex(of: UInt8(ascii: "&")) ?? bytes.count
      let pair = bytes[position..<end]
      position = end + 1
      guard !pair.isEmpty else { continue }
      guard let sign = pair.firstIndex(of: UInt8(ascii: "=")) else {
        return (try Self.decoded(pair), [])
      }
      return (try Self.decoded(pair[..<sign]), try Self.decoded(pair[(sign + 1)...]))
    }
    return nil
  }

  private static func decoded(_ text: ArraySlice<UInt8>) throws(RemoteError) -> [UInt8] {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(max(0, text.count - 2 * text.count { $0 == UInt8(ascii: "%") }))
    var position = text.startIndex
    while position < text.endIndex {
      let byte = text[position]
      position += 1
      switch byte {
      case UInt8(ascii: "%"):
        guard position + 2 <= text.endIndex, let high = digit(text[position]),
          let low = digit(text[position + 1])
        else {
          throw RemoteError(.invalidArgument, "The request has a % without two hexadecimal digits.")
        }
        decoded.append(high << 4 | low)
        position += 2
      case UInt8(ascii: "+"): decoded.append(UInt8(ascii: " "))
      default: decoded.append(byte)
      }
    }
    return decoded
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// A number in decimal digits.
enum ChannelNumber {
  /// The largest integer that all clients represent exactly.
  static let max: UInt64 = 1 << 53 - 1

  /// Nil if the text is no number, has leading zeros, or is too large.
  static func parse(_ text: some Collection<UInt8>) -> UInt64? {
    guard let first = text.first, text.count <= 16, first != UInt8(ascii: "0") || text.count == 1 else {
      return nil
    }
    var number: UInt64 = 0
    for byte in text {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      number = number * 10 + UInt64(byte - UInt8(ascii: "0"))
    }
    return number <= max ? number : nil
  }
}
