// Ids of documents that the service chooses.

internal import ByteStore

enum RandomName {
  private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
  private static let half = 10

  /// Twenty letters and digits, which are 119 random bits.
  static func make(_ random: any RandomSource) -> String {
    let number = random.randomID()
    return String(decoding: digits(number.high) + digits(number.low), as: UTF8.self)
  }

  private static func digits(_ number: UInt64) -> [UInt8] {
    var rest = number
    return (0..<half).map { _ in
      defer { rest /= UInt64(letters.count) }
      return letters[Int(rest % UInt64(letters.count))]
    }
  }
}
