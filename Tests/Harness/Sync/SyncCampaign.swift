// Runs many histories of clients and an authority, and counts the events that occurred.

package enum SyncCampaign {
  package enum Kind: String, CaseIterable, Sendable {
    case words, writes, rejections, listeners, offlinePeriods, kills, doomed, killsAtACall, userChanges,
      writesAtTheAuthority, collections, evictions, bundles, cancels, unsentCancels, waits, eagerClients,
      conflicts, clientsInParts, fullDisks, refusedCalls, pins, unpins, pinnedDocuments, suspendedPins
  }

  package struct Summary: Sendable {
    package var histories = 0
    package var failed = 0
    package var counts: [Kind: Int] = [:]
    package var firstFailure: String?
    /// The numbers of failed histories.
    package var failures: [Int] = []
    /// A hash of the history; equal histories have equal traces.
    package var trace: UInt64 = 0

    package var neverReached: [Kind] { Kind.allCases.filter { counts[$0, default: 0] == 0 } }
  }

  /// Runs this many histories, or only the one with the given number. `progress` is called with the
  /// number of completed histories.
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
