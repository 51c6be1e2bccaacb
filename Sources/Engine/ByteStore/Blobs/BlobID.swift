// The identifier of a content, which is its SHA-256 digest.

/// The SHA-256 digest of a content. Equal contents have equal ids, and different contents have different ids.
package struct BlobID: Hashable, Sendable, CustomStringConvertible {
  package static let byteCount = ContentDigest.byteCount

  package let bytes: [UInt8]

  /// Creates an id from a digest. Returns nil if the array does not have the size of a digest.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  init(digest: [UInt8]) {
    precondition(digest.count == Self.byteCount, "a digest has 32 bytes")
    bytes = digest
  }

  /// Parses lower-case hexadecimal digits. Returns nil for any other text.
  package init?(_ text: some StringProtocol) {
    let digits = Array(text.utf8)
    guard digits.count == 2 * Self.byteCount else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.byteCount)
    for place in stride(from: 0, to: digits.count, by: 2) {
      guard let high = Self.value(of: digits[place]), let low = Self.value(of: digits[place + 1]) else {
        return nil
      }
      bytes.append(high << 4 | low)
    }
    self.bytes = bytes
  }

  private static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }

  package var description: String {
    unsafe String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
      for (place, byte) in bytes.enumerated() {
        unsafe text[2 * place] = Self.digit(byte >> 4)
        unsafe text[2 * place + 1] = Self.digit(byte & 15)
      }
      return 2 * bytes.count
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}

/// The location of a content.
package struct BlobLocation: Hashable, Sendable {
  package enum Home: Hashable, Sendable {
    /// The content has a file of its own, whose name contains the content's id.
    case ownFile
    /// The content is in a pack. `offset` is the offset of its body.
    case pack(number: UInt64, offset: UInt64, storedBytes: UInt32, checksum: UInt32)
  }

  /// The size of the content.
  package var byteCount: UInt64
  package var home: Home

  package init(byteCount: UInt64, home: Home) {
    self.byteCount = byteCount
    self.home = home
  }

  package var pack: UInt64? {
    if case .pack(let number, _, _, _) = home { number } else { nil }
  }

  /// The space that the content would need in a pack if it were the only content of its group. The space is a
  /// multiple of the page size, because a group starts at a page boundary.
  package var bytesInPack: UInt64 {
    (storedBytes + UInt64(BlobFormat.frameHeadBytes)).roundedUp(toMultipleOf: UInt64(BlobFormat.pageBytes))
  }

  /// The size of the stored form without headers. For a content with a file of its own, this is the
  /// uncompressed size.
  package var storedBytes: UInt64 {
    if case .pack(_, _, let stored, _) = home { UInt64(stored) } else { byteCount }
  }
}
