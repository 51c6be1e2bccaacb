// A remote's Bloom filter of document names. A document that is not in the filter does not exist.

internal import CDigest

/// A Bloom filter over the names of documents.
///
///   h1, h2   = the two halves of MD5(name), little-endian
///   in it    ⇔ bit (h1 + i·h2) mod bitCount is set for each i in 0..<hashCount
public struct BloomFilter: Sendable {
  /// The filter as received from a remote, not validated.
  public struct Parts: Sendable, Equatable {
    /// The bits of the filter.
    public var bitmap: [UInt8]
    /// The number of unused bits in the last byte.
    public var padding: Int
    /// The number of hash functions.
    public var hashCount: Int

    /// Creates the parts of a filter.
    public init(bitmap: [UInt8], padding: Int, hashCount: Int) {
      self.bitmap = bitmap
      self.padding = padding
      self.hashCount = hashCount
    }
  }

  /// A larger number does not improve a filter, and an arbitrary one from the network could cost too much
  /// time.
  private static let hashCountMax = 100

  private var parts: Parts
  private let bitCount: UInt64

  /// Returns nil if the filter is empty or its parameters are invalid.
  public init?(_ parts: Parts) {
    guard (0..<8).contains(parts.padding), (1...Self.hashCountMax).contains(parts.hashCount),
      !parts.bitmap.isEmpty
    else { return nil }
    bitCount = UInt64(8 * parts.bitmap.count - parts.padding)
    self.parts = parts
  }

  /// With 17 bits for each name, the filter has 0.03 % of other names. A client that finds a single one asks
  /// for all documents, which costs more on average with fewer bits: a document has hundreds of bytes.
  private static let nameBits = 17
  private static let nameBitsMax = 40
  /// The places of a name are a multiple of one number apart. In a few bytes, many names share all places.
  private static let bytesMin = 125

  /// Creates an empty filter for this many names. It is so large that it probably has none of `others`
  /// further names. Up to 30,000 of them, the probability that it has one is about 0.03 %.
  package init(count: Int, others: Int = 1) {
    let doublings = Int.bitWidth - (max(1, others) - 1).leadingZeroBitCount
    // Half as many false positives take 1.44 bits more for each name.
    let bits = min(Self.nameBits + (doublings * 144 + 99) / 100, Self.nameBitsMax)
    let bytes = max(Self.bytesMin, (count * bits + 7) / 8)
    // The best number is the number of bits times ln 2.
    let hashCount = (bits * 69 + 50) / 100
    parts = Parts(bitmap: [UInt8](repeating: 0, count: bytes), padding: 0, hashCount: hashCount)
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
