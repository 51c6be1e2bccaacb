// Which documents a remote may have, in few bits: what is not in the filter is not there.

internal import CDigest

/// A Bloom filter over the names of documents.
///
///   h1, h2   = the two halves of MD5(name), little-endian
///   in it    ⇔ bit (h1 + i·h2) mod bitCount is set for each i in 0..<hashCount
public struct BloomFilter: Sendable {
  /// As it comes from a remote: nothing is checked.
  public struct Parts: Sendable, Equatable {
    /// The filter's bits.
    public var bitmap: [UInt8]
    /// Bits of the last byte that do not count.
    public var padding: Int
    /// How many bits stand for a name.
    public var hashCount: Int

    /// A filter as it is sent.
    public init(bitmap: [UInt8], padding: Int, hashCount: Int) {
      self.bitmap = bitmap
      self.padding = padding
      self.hashCount = hashCount
    }
  }

  /// More make no filter better; a made-up number must not keep us busy.
  private static let hashCountMax = 100

  private var parts: Parts
  private let bitCount: UInt64

  /// Nil for a filter that says nothing, or nothing that makes sense.
  public init?(_ parts: Parts) {
    guard (0..<8).contains(parts.padding), (1...Self.hashCountMax).contains(parts.hashCount),
      !parts.bitmap.isEmpty
    else { return nil }
    bitCount = UInt64(8 * parts.bitmap.count - parts.padding)
    self.parts = parts
  }

  /// An empty one for so many names, with about one wrong answer in a hundred.
  package init(count: Int) {
    let bytes = max(1, (count * 10 + 7) / 8)
    parts = Parts(bitmap: [UInt8](repeating: 0, count: bytes), padding: 0, hashCount: 7)
    bitCount = UInt64(8 * bytes)
  }

  package var asParts: Parts { parts }

  package func contains(_ name: String) -> Bool {
    places(of: name).allSatisfy { parts.bitmap[$0 / 8] & 1 << UInt8($0 % 8) != 0 }
  }

  package mutating func insert(_ name: String) {
    for place in places(of: name) { parts.bitmap[place / 8] |= 1 << UInt8(place % 8) }
  }

  private func places(of name: String) -> [Int] {
    let digest = Self.md5(name)
    let first = Self.word(digest[..<8])
    let second = Self.word(digest[8...])
    return (0..<UInt64(parts.hashCount)).map { Int((first &+ $0 &* second) % bitCount) }
  }

  private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  private static func md5(_ text: String) -> [UInt8] {
    var context = dugout_md5()
    unsafe dugout_md5_init(&context)
    var text = text
    text.withUTF8 { bytes in unsafe dugout_md5_update(&context, bytes.baseAddress, bytes.count) }
    var digest = [UInt8](repeating: 0, count: Int(DUGOUT_MD5_SIZE))
    unsafe digest.withUnsafeMutableBufferPointer { bytes in
      if let start = bytes.baseAddress { unsafe dugout_md5_final(&context, start) }
    }
    return digest
  }
}
