// How long to wait before the next attempt: nothing at first, then more each time, and never the same for two clients.

struct Backoff {
  private static let first: Double = 1
  private static let factor = 1.5
  private static let most: Double = 60

  /// Seconds.
  private var base: Double = 0
  private var dice: UInt64

  init(seed: UInt64) { dice = seed }

  mutating func reset() { base = 0 }

  /// The remote has too much to do.
  mutating func wait() { base = Self.most }

  /// Microseconds until the next attempt.
  mutating func next() -> Int64 {
    let jitter = (random() - 0.5) * base
    let delay = max(0, base + jitter)
    base = min(Self.most, max(Self.first, base * Self.factor))
    return Int64(delay * 1_000_000)
  }

  /// 0 ..< 1, by SplitMix64.
  private mutating func random() -> Double {
    dice &+= 0x9E37_79B9_7F4A_7C15
    var word = dice
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    word ^= word >> 31
    return Double(word >> 11) / Double(1 << 53)
  }
}
