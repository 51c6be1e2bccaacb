// Random documents and random queries against an evaluator that takes the long way (docs/reliability.md, T5):
// with indexes and without, made for queries and made before, while documents change, after closes, deaths,
// flushes and compactions. A failure is the program's seed and the program, shrunk as far as it still fails.

package struct QueryCampaign {
  /// What queries meet; a campaign that never met one of them has shown nothing about it.
  package enum Kind: String, CaseIterable, Sendable {
    case ordered
    case sorted
    case filtered
    /// Nothing but keys decides what is in the answer.
    case exact
    /// What is in all of several indexes.
    case joined
    /// What is in any of several, in order.
    case merged
    /// What is in any of several, sorted.
    case gathered
    case backward
    case severalRanges
    case documentsByName
    case nothingMatches
    case longKeys
    case nestedNames
    case keysOnlyCounts
    case sums
    /// Without a look at a document.
    case sumsFromKeys
    case groups
    case cursors
    case firstLimits
    case lastLimits
    case emptyAnswers
    /// More documents than are read at once.
    case severalWaves
    case borrowed
    case storedRecords
    case snapshots
    /// After commits that it does not see.
    case olderSnapshots
    case indexesMadeForQueries
    case indexesMadeBefore
    /// One that has not all equalities of the query.
    case partialIndexes
    case indexesLetGo
    case commits
    case deletes
    case closes
    case abandons
    case flushes
    case compactions
    case invariantChecks
  }

  package struct Summary: Sendable {
    package var queries = 0
    package var programs = 0
    package var counts: [Kind: Int] = [:]
    package var failure: String?

    package var neverReached: [Kind] { Kind.allCases.filter { counts[$0, default: 0] == 0 } }

    mutating func count(_ kind: Kind, if happened: Bool = true) {
      if happened { counts[kind, default: 0] += 1 }
    }
  }

  /// A part of it: programs from `first` on.
  /// `progress` is told how many queries are done.
  package static func run(
    queries: Int, seed: UInt64, first: Int = 0, progress: (Int) -> Void = { _ in }
  ) -> Summary {
    var summary = Summary()
    summary.programs = first
    while summary.queries < queries, summary.failure == nil {
      let programSeed = SeededRandom.seed(seed, UInt64(summary.programs))
      let isLarge = QueryProgram.isLarge(summary.programs)
      let program = QueryProgram(seed: programSeed, queriesMax: queries - summary.queries, isLarge: isLarge)
      if let failure = program.run(&summary) {
        let shrunk = QueryProgramShrinker.shrink(program, failure)
        summary.failure =
          "seed \(seed), program \(summary.programs): \(shrunk.failure.what)\n\(shrunk.program)"
      }
      summary.programs += 1
      progress(summary.queries)
    }
    return summary
  }
}

struct QueryFailure: Error {
  /// Of the program.
  var step: Int
  var what: String
}
