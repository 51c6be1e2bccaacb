// Randomized exponential backoff: no delay for the first attempt, then growing delays up to a minute.

package struct Backoff: Sendable {
  private static let first: Double = 1
  private static let factor = 1.5
  private static let most: Double = 60

  /// The next delay before randomization, in seconds.
  private var base: Double = 0
  private var rng: SplitMix64

  package init(seed: UInt64) { rng = SplitMix64(seed: seed) }

  package mutating func reset() { base = 0 }

  /// Jumps to the maximum delay, because the next attempt will probably fail, too.
  mutating func wait() { base = Self.most }

  /// Returns the delay before the next attempt, in microseconds.
  package mutating func next() -> Int64 {
    let jitter = (rng.fraction() - 0.5) * base
    let delay = max(0, base + jitter)
    base = min(Self.most, max(Self.first, base * Self.factor))
    return Int64(delay * 1_000_000)
  }
}
