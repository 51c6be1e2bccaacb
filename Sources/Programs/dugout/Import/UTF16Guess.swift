// Detects UTF-16 without a byte order mark, by the zero byte that each ASCII letter has in UTF-16.
//
//   high   the byte position with most zeros: the second byte in UTF-16LE, the first one in UTF-16BE
//   low    the other position, with few zeros, as in U+3000 (the wide space of Japanese) or U+0100
//
// Zeros occur in UTF-8, too, between names or at the end of a truncated file. Bytes that are valid text
// without the zeros count as UTF-16 only if almost every high byte is zero.

import Foundation

enum UTF16Guess {
  private static let lookedAtMax = 4096

  /// Returns the encoding's name for `iconv`, or nil if the bytes do not look like UTF-16. Each letter has
  /// two bytes and starts at an even offset of the file. A line may start in the middle of a letter, because
  /// the newline byte is only one half of a letter.
  static func encoding(of line: Data, at start: UInt64) -> String? {
    let looked = [UInt8](line.prefix(lookedAtMax))
    var bytes = [0, 0]
    var zeros = [0, 0]
    for (place, byte) in looked.enumerated() {
      let side = Int((start &+ UInt64(place)) % 2)
      bytes[side] += 1
      if byte == 0 { zeros[side] += 1 }
    }
    let high = zeros[1] > zeros[0] ? 1 : 0
    let low = 1 - high
    guard zeros[high] >= 2, 10 * zeros[low] < zeros[high] else { return nil }
    // Letters of other scripts have no zero byte in UTF-16, but no text consists of such letters alone.
    let isMost =
      isText(looked.filter { $0 != 0 }) ? 10 * zeros[high] >= 9 * bytes[high] : 4 * zeros[high] >= bytes[high]
    guard isMost else { return nil }
    return high == 1 ? "UTF-16LE" : "UTF-16BE"
  }

  /// Whether the bytes are UTF-8, possibly truncated within the last letter, without unusual control
  /// characters.
  private static func isText(_ bytes: [UInt8]) -> Bool {
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 || $0 == 0x0D }) else { return false }
    return (0...min(3, bytes.count)).contains { String(validating: bytes.dropLast($0), as: UTF8.self) != nil }
  }
}
