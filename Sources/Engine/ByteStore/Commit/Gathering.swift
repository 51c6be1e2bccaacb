// How a leader comes to a full group.
//
// Threads that one group acknowledged come back with their next commits at about the same time. A leader
// that took the first of them at once would have the others wait for two syncs instead of one. So the first sleeps for a
// moment, and the last of them leads.

/// Whether to wait for company, and for how long: for as many commits as were under way when the last
/// group ended, and for no longer than half of what a sync takes. Where that was in vain, fewer and fewer
/// leaders try it.
struct Gathering {
  private static let nanosecondsMax: UInt64 = 1_000_000
  private static let skipsMax = 64

  /// How many commits the next group may hope for.
  private(set) var expected = 1
  private var syncNanoseconds: UInt64 = 0
  private var skipsAfterFailure = 0
  private var skipsLeft = 0

  /// Zero if there is nothing to wait for.
  mutating func patience(with queued: Int) -> UInt64 {
    guard queued < expected else { return 0 }
    guard skipsLeft == 0 else {
      skipsLeft -= 1
      return 0
    }
    return min(syncNanoseconds / 2, Self.nanosecondsMax)
  }

  func isComplete(_ queued: Int) -> Bool { queued >= expected }

  mutating func waited(andGot count: Int) {
    skipsAfterFailure = count < expected ? min(2 * skipsAfterFailure + 1, Self.skipsMax) : 0
    skipsLeft = skipsAfterFailure
  }

  /// A group of `count` ended; `queued` commits came meanwhile.
  mutating func groupEnded(_ count: Int, queued: Int, syncNanoseconds: UInt64?) {
    expected = max(count + queued, 1)
    guard let syncNanoseconds else { return }
    self.syncNanoseconds = (7 * self.syncNanoseconds + syncNanoseconds) / 8
  }
}
