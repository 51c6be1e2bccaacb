// Runs many histories of a client and an object server, and counts the events that occurred.

package enum BlobRemoteCampaign {
  package enum Kind: String, CaseIterable, Sendable {
    case puts, putsOffline, updates, deletes, cancels, holds, finds, fetched, refusals, writesAtTheRemote,
      stalls, stalledDownloads,
      /// Staged pieces that were resumed instead of fetched again.
      resumedPieces,
      offline, breaks, online, sweeps, kills, powerLosses, strikes
  }

  package struct Summary: Sendable {
    package var histories = 0
    package var failures = 0
    package var counts: [Kind: Int] = [:]
    package var firstFailure: String?
    /// A hash of disk calls and event counts; equal histories have equal traces.
    package var trace: UInt64 = 0

    package var neverReached: [Kind] { Kind.allCases.filter { counts[$0, default: 0] == 0 } }
  }

  package static func run(histories: Int, seed: UInt64) -> Summary {
    var summary = Summary()
    for number in 0..<histories {
      let history = BlobRemoteHistory(seed: SeededRandom.seed(seed, UInt64(number)))
      let problem = history.run()
      summary.histories += 1
      summary.counts.merge(history.counts, uniquingKeysWith: +)
      summary.trace = SeededRandom.seed(summary.trace, history.trace)
      guard let problem else { continue }
      summary.failures += 1
      summary.firstFailure = summary.firstFailure ?? "\(problem) (history \(number) with a remote)"
    }
    return summary
  }
}
