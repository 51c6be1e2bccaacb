// Whether bytes are letters of UTF-16. Those of ASCII, of which JSON has many, are a byte and a zero each.
//
//   high   the bytes of which most are zeros then: behind the others in UTF-16LE, before them in UTF-16BE
//   low    the others: few are zeros, as in the wide space of Japanese (U+3000) or in "Ā" (U+0100)
//
// Zeros are in UTF-8 as well, between names or at the end of a file that was cut off. What would be a text without them
// is UTF-16 only if hardly a high byte is anything else.

import Foundation

enum UTF16Guess {
  private static let lookedAtMax = 4096

  /// As `iconv` calls it; nil for what does not look like it. A letter has two bytes from the start of the file on, and
  /// a line may begin between them, as the byte that ends one is half of a letter.
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
    // Texts in other scripts have letters without a zero, but not all of them.
    let isMost =
      isText(looked.filter { $0 != 0 }) ? 10 * zeros[high] >= 9 * bytes[high] : 4 * zeros[high] >= bytes[high]
    guard isMost else { return nil }
    return high == 1 ? "UTF-16LE" : "UTF-16BE"
  }

  /// Whether it is UTF-8, perhaps cut off in its last letter, without control characters but those that texts have.
  private static func isText(_ bytes: [UInt8]) -> Bool {
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 || $0 == 0x0D }) else { return false }
    return (0...min(3, bytes.count)).contains { String(validating: bytes.dropLast($0), as: UTF8.self) != nil }
  }
}
