// Many histories of clients and their authority, and what they have met.

package enum SyncCampaign {
  package enum Kind: String, CaseIterable, Sendable {
    case words, writes, rejections, listeners, offlinePeriods, kills, doomed, killsAtACall, userChanges,
      writesAtTheAuthority, collections, evictions, bundles, cancels, unsentCancels, waits, eagerClients,
      conflicts, clientsInParts
  }

  package struct Summary: Sendable {
    package var histories = 0
    package var failed = 0
    package var counts: [Kind: Int] = [:]
    package var firstFailure: String?
    /// By their numbers.
    package var failures: [Int] = []
    /// Of the same histories it is the same.
    package var trace: UInt64 = 0

    package var neverReached: [Kind] { Kind.allCases.filter { counts[$0, default: 0] == 0 } }
  }

  /// Of so many histories, or the one with that number alone.
  /// `progress` is told how many histories are done.
  package static func run(
    histories: Int, seed: UInt64, history: Int? = nil, progress: (Int) -> Void = { _ in }
  ) -> Summary {
    var summary = Summary()
    for number in history.map({ [$0] }) ?? Array(0..<histories) {
      let result = SyncHistory.run(seed: SeededRandom.seed(seed, UInt64(number)))
      summary.histories += 1
      progress(summary.histories)
      summary.counts.merge(result.counts, uniquingKeysWith: +)
      summary.trace = SeededRandom.seed(summary.trace, result.trace)
      guard let failure = result.failure else { continue }
      summary.failed += 1
      summary.failures.append(number)
      summary.firstFailure = summary.firstFailure ?? failure
    }
    return summary
  }
}
