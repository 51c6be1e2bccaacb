// How long to wait before the next attempt: nothing at first, then more each time, and never the same for two clients.

package struct Backoff: Sendable {
  private static let first: Double = 1
  private static let factor = 1.5
  private static let most: Double = 60

  /// Seconds.
  private var base: Double = 0
  private var dice: SeededDice

  package init(seed: UInt64) { dice = SeededDice(seed: seed) }

  package mutating func reset() { base = 0 }

  /// The remote has too much to do.
  mutating func wait() { base = Self.most }

  /// Microseconds until the next attempt.
  package mutating func next() -> Int64 {
    let jitter = (dice.fraction() - 0.5) * base
    let delay = max(0, base + jitter)
    base = min(Self.most, max(Self.first, base * Self.factor))
    return Int64(delay * 1_000_000)
  }
}
