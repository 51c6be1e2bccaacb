// Random commits from eight threads under thousands of live queries (docs/reliability.md, T5 and P13). Every state that
// a listener was told has to be what its query answers after one of the commits, in their order, by an evaluator that
// takes the long way: compared after every round of eight commits for those that this evaluator says are concerned and
// for ten others for each commit, and for all of them every thousand commits. In between, bursts of commits without a
// pause, listeners that come and go, handlers that commit and listen, and indexes that are dropped.

package import DocumentStore

package struct LiveCampaign {
  package enum Kind: String, CaseIterable, Sendable {
    case added
    case removed
    case modified
    case moved
    /// More than one document, and perhaps more than one commit, in a state.
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

  /// On a store in `directory`, where nothing is yet.
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
