// Random commits from eight threads under thousands of live queries (docs/reliability.md, T5 and P13).
//
// Every state that a listener received must equal the result of its query after one of the commits, according
// to a naive evaluator, and the states must be in commit order. After every round of eight commits, the
// campaign checks the affected listeners and ten others per commit. Every thousand commits, it checks all
// listeners. The campaign also has bursts of commits, listeners that are added and removed, handlers that
// commit and listen, and dropped indexes.

package import DocumentStore

package struct LiveCampaign {
  package enum Kind: String, CaseIterable, Sendable {
    case added
    case removed
    case modified
    case moved
    /// A state in which several documents have changed, possibly by several commits.
    case severalChanges
    case concerned
    case others
    case comparisonsOfAll
    case bursts
    case replacedListeners
    case sharedQueries
    case statesOfSingleCommits
    case commitsOfHandlers
    case listenersOfHandlers
    case droppedIndexes
  }

  package struct Summary: Sendable {
    package var commits = 0
    package var comparisons = 0
    package var counts: [Kind: Int] = [:]
    package var failure: String?

    package var neverReached: [Kind] { Kind.allCases.filter { counts[$0, default: 0] == 0 } }
  }

  /// Runs on a new store in `directory`.
  package static func run(
    commits: Int, listeners: Int = 2000, seed: UInt64, pauses: (any StorePauses)? = nil, in directory: String,
    progress: (Int) -> Void = { _ in }
  ) -> Summary {
    do {
      let run = try LiveRun(listeners: listeners, seed: seed, pauses: pauses, in: directory)
      return run.run(commits: commits, progress)
    } catch {
      var summary = Summary()
      summary.failure = "seed \(seed): \(error)"
      return summary
    }
  }
}
