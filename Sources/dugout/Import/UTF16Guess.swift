// Whether bytes are letters of UTF-16. Those of ASCII, of which JSON has many, are a byte and a zero each.

import Foundation

enum UTF16Guess {
  private static let lookedAtMax = 1024

  /// As `iconv` calls it; nil for what does not look like it. A letter has two bytes from the start of the file on, and
  /// a line may begin between them, as the byte that ends one is half of a letter.
  static func encoding(of line: Data, at start: UInt64) -> String? {
    let looked = line.prefix(lookedAtMax)
    var zeros = [0, 0]
    for (place, byte) in looked.enumerated() where byte == 0 {
      zeros[Int((start &+ UInt64(place)) % 2)] += 1
    }
    // Texts in other scripts have letters without a zero, but not all of them.
    guard zeros.contains(0), let most = zeros.max(), most >= max(2, looked.count / 8) else { return nil }
    return zeros[1] > 0 ? "UTF-16LE" : "UTF-16BE"
  }
}
