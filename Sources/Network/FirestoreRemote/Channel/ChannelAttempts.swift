// Requests in a row that have failed.

internal import OfflineSync

/// Counts attempts, and says when the next one begins.
struct ChannelAttempts {
  private(set) var count = 0

  mutating func reset() { count = 0 }

  /// Counts a failed attempt. Returns the delay before the next one in microseconds, or nil if it was the
  /// last one.
  mutating func fail(max: Int, _ settings: ChannelSettings, random: inout SplitMix64) -> Int64? {
    count += 1
    guard count < max else { return nil }
    let delay = min(settings.delayMax, settings.delayMin << Int64(min(count - 1, 16)))
    return delay * 3 / 4 + Int64(random.below(UInt64(delay / 2 + 1)))
  }
}
