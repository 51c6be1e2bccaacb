// Decides how long a leader waits for its group to fill.
//
// Threads that were acknowledged in one group return with their next commits at about the same time. If a
// leader started at once with the first of these commits, the other commits would have to wait for two syncs
// instead of one. Therefore the first thread sleeps briefly, and the last thread to arrive leads the group.

/// Decides whether a leader waits for more commits, and for how long. The expected size of the next group is
/// the number of commits that were in progress when the last group ended. A wait takes at most half the
/// duration of a sync. If waits turn out to be useless, fewer and fewer leaders wait.
struct GroupWaitPolicy {
  private static let nanosecondsMax: UInt64 = 1_000_000
  private static let skipsMax = 64

  /// Expected size of the next commit group.
  private(set) var expected = 1
  private var syncNanoseconds: UInt64 = 0
  private var skipsAfterFailure = 0
  private var skipsLeft = 0

  /// Returns the time to wait in nanoseconds; 0 if no wait is worthwhile.
  mutating func waitNanoseconds(with queued: Int) -> UInt64 {
    guard queued < expected else { return 0 }
    guard skipsLeft == 0 else {
      skipsLeft -= 1
      return 0
    }
    return min(syncNanoseconds / 2, Self.nanosecondsMax)
  }

  func isComplete(_ queued: Int) -> Bool { queued >= expected }

  mutating func waitEnded(groupSize count: Int) {
    skipsAfterFailure = count < expected ? min(2 * skipsAfterFailure + 1, Self.skipsMax) : 0
    skipsLeft = skipsAfterFailure
  }

  /// Called when a group of `count` commits ended; `queued` commits arrived meanwhile.
  mutating func groupEnded(_ count: Int, queued: Int, syncNanoseconds: UInt64?) {
    expected = max(count + queued, 1)
    guard let syncNanoseconds else { return }
    self.syncNanoseconds = (7 * self.syncNanoseconds + syncNanoseconds) / 8
  }
}
