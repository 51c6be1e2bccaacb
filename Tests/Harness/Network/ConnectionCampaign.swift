// Runs many histories of connections, and counts the events that occurred.

#if Server
package enum ConnectionCampaign {
  package struct Summary: Sendable {
    package var histories = 0
    package var failed = 0
    package var counts: [String: Int] = [:]
    package var firstFailure: String?
    /// A hash of all histories; equal runs have equal traces.
    package var trace: UInt64 = 0

    /// The events that must occur in a long run, and have not occurred.
    package var neverReached: [String] {
      ConnectionHistory.events.filter { counts[$0, default: 0] == 0 }
    }
  }

  /// One history in this number runs twice, and must have the same trace.
  private static let repeatedHistories = 50
  /// The events before a failure that are printed.
  private static let printedEvents = 60

  /// Runs this many histories, or only the one with the given number. `progress` is called with the
  /// number of completed histories.
  package static func run(
    histories: Int, seed: UInt64, history: Int? = nil, progress: (Int) -> Void = { _ in }
  ) -> Summary {
    var summary = Summary()
    for number in history.map({ [$0] }) ?? Array(0..<histories) {
      let historySeed = SeededRandom.seed(seed, UInt64(number))
      let result = ConnectionHistory.run(seed: historySeed)
      summary.histories += 1
      progress(summary.histories)
      summary.counts.merge(result.counts, uniquingKeysWith: +)
      summary.trace = SeededRandom.seed(summary.trace, result.trace)
      guard let failure = result.failure ?? repeatedFailure(number, historySeed, result) else { continue }
      summary.failed += 1
      summary.firstFailure =
        summary.firstFailure ?? "history \(number): \(failure)\n\(lastEvents(historySeed))"
    }
    return summary
  }

  private static func repeatedFailure(
    _ number: Int, _ seed: UInt64, _ result: ConnectionHistory.Result
  ) -> String? {
    guard number % repeatedHistories == 0, ConnectionHistory.run(seed: seed).trace != result.trace else {
      return nil
    }
    return "the same seed gives another trace"
  }

  private static func lastEvents(_ seed: UInt64) -> String {
    ConnectionHistory.run(seed: seed, recordsTrace: true).traceLines.suffix(printedEvents)
      .joined(separator: "\n")
  }
}
#endif
