// What a blob is called: the SHA-256 of its content.

/// Equal contents have one id, and different ones never the same.
package struct BlobID: Hashable, Sendable, CustomStringConvertible {
  package static let byteCount = ContentDigest.byteCount

  package let bytes: [UInt8]

  /// Nil unless there are as many bytes as a digest has.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  init(digest: [UInt8]) {
    precondition(digest.count == Self.byteCount, "a digest has 32 bytes")
    bytes = digest
  }

  /// Lower-case hexadecimal; nil for any other text.
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

/// Where the content of a blob is.
package struct BlobPlace: Hashable, Sendable {
  package enum Home: Hashable, Sendable {
    /// In a file of its own, named by its id.
    case ownFile
    /// In a pack, of which `offset` is that of the content.
    case pack(number: UInt64, offset: UInt64, storedBytes: UInt32, checksum: UInt32)
  }

  /// How long the content is.
  package var byteCount: UInt64
  package var home: Home

  package init(byteCount: UInt64, home: Home) {
    self.byteCount = byteCount
    self.home = home
  }

  package var pack: UInt64? {
    if case .pack(let number, _, _, _) = home { number } else { nil }
  }

  /// What it takes of a pack if nothing else was added with it: a group begins at a page.
  package var bytesInPack: UInt64 {
    (storedBytes + UInt64(BlobFormat.frameHeadBytes)).roundedUp(toMultipleOf: UInt64(BlobFormat.pageBytes))
  }

  /// What it takes on disk, but for headers.
  package var storedBytes: UInt64 {
    if case .pack(_, _, let stored, _) = home { UInt64(stored) } else { byteCount }
  }
}
