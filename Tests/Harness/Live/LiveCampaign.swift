// Random commits from eight threads under thousands of live queries, compared with fresh ones (docs/reliability.md,
// T5 and P13): after every round of eight commits those that a naive matcher says are concerned and ten others, and
// all of them every thousand commits. In between, bursts of commits without a pause, and listeners come and go.

import DocumentStore

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
  }

  package struct Summary: Sendable {
    package var commits = 0
    package var comparisons = 0
    package var counts: [Kind: Int] = [:]
    package var failure: String?

    package var neverReached: [Kind] { Kind.allCases.filter { counts[$0, default: 0] == 0 } }
  }

  /// On a store in `directory`, where nothing is yet.
  package static func run(commits: Int, listeners: Int = 2000, seed: UInt64, in directory: String) -> Summary
  {
    do {
      let run = try LiveRun(listeners: listeners, seed: seed, in: directory)
      return run.run(commits: commits)
    } catch {
      var summary = Summary()
      summary.failure = "seed \(seed): \(error)"
      return summary
    }
  }
}
