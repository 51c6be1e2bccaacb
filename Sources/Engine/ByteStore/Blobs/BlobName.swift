// The file names of contents. They consist of digests and numbers, and never contain text from a user.

/// The number of an incomplete content.
package typealias StagedNumber = RandomID

package enum BlobName: Hashable {
  case blob(BlobID)
  case staged(StagedNumber)
  case pack(UInt64)

  package static let folder = "blobs"
  private static let blobPrefix = "blob-"
  private static let stagedPrefix = "staged-"
  private static let packPrefix = "pack-"
  private static let digitsMin = 10

  package var text: String {
    switch self {
    case .blob(let id): return Self.blobPrefix + id.description
    case .staged(let number): return Self.stagedPrefix + number.description
    case .pack(let number):
      let digits = String(number)
      return Self.packPrefix + String(repeating: "0", count: max(0, Self.digitsMin - digits.count)) + digits
    }
  }

  /// Parses a file name. Returns nil if the name has another format.
  package init?(_ text: String) {
    if text.hasPrefix(Self.blobPrefix), let id = BlobID(text.dropFirst(Self.blobPrefix.count)) {
      self = .blob(id)
    } else if text.hasPrefix(Self.stagedPrefix),
      let number = StagedNumber(hexadecimal: text.dropFirst(Self.stagedPrefix.count))
    {
      self = .staged(number)
    } else if text.hasPrefix(Self.packPrefix), let number = UInt64(text.dropFirst(Self.packPrefix.count)) {
      self = .pack(number)
    } else {
      return nil
    }
    guard self.text == text else { return nil }
  }
}

extension RandomID {
  /// Parses text in the format of `description`. Returns nil for any other text.
  package init?(hexadecimal text: some StringProtocol) {
    guard text.utf8.count == 32, let high = UInt64(text.prefix(16), radix: 16),
      let low = UInt64(text.suffix(16), radix: 16)
    else { return nil }
    self.init(high: high, low: low)
    guard description == text else { return nil }
  }
}
