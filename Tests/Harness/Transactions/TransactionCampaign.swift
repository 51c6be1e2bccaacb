// Runs random transactions on many threads, and checks for anomalies (docs/reliability.md, P13, T8).

package struct TransactionCampaign {
  package enum Kind: String, CaseIterable, Sendable {
    case transactions
    case retries
    case givenUp
    case abortedByTheirBlocks
    case batches
    case queries
    case snapshots
    case itemReads
    case absentReads
    case rangeReads
    case emptyRanges
    case appendsWithoutReading
    case severalWritesOfOneDocument
    case removals
    case returns
    case limits
    case cursors
    case groupQueries
    case arrayQueries
    case maintenance
    case simulated
    case lockWaits
    case lockVictims
    case expiredLocks
  }

  package struct Summary: Sendable {
    package var histories = 0
    package var counts: [Kind: Int] = [:]
    package var failure: String?

    package var neverReached: [Kind] { Kind.allCases.filter { counts[$0, default: 0] == 0 } }

    mutating func count(_ kind: Kind, _ number: Int = 1) { counts[kind, default: 0] += number }
  }

  /// Runs this many histories. `progress` is called with the number of completed histories.
  package static func run(
    histories: Int, seed: UInt64, progress: (Int) -> Void = { _ in }
  ) -> Summary {
    var summary = Summary()
    while summary.histories < histories, summary.failure == nil {
      // In every fourth run, the threads are scheduled at random from a seed, so that the seed reproduces the
      // run.
      let run = TransactionRun(
        seed: SeededRandom.seed(seed, UInt64(summary.histories)), isSeeded: summary.histories % 4 == 3)
      do {
        let (history, final) = try run.run()
        for (kind, number) in run.counts { summary.count(kind, number) }
        let anomalies = HistoryChecker.anomalies(in: history, final: final)
        if let what = anomalies.first?.description ?? ClaimedOrder.violation(in: history) {
          let lines = history.enumerated().map { "\($0.offset): \($0.element)" }.joined(separator: "\n")
          summary.failure = "seed \(seed), history \(summary.histories): \(what)\n\(lines)"
        }
      } catch {
        summary.failure = "seed \(seed), history \(summary.histories): \(error)"
      }
      summary.histories += 1
      progress(summary.histories)
    }
    return summary
  }
}
