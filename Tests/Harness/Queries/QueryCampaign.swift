// Compares random queries over random documents with a naive evaluator (docs/reliability.md, T5).
//
// Queries run without indexes, with indexes that the engine creates for them, and with indexes that exist in
// advance. They run while documents change, and after closes, crashes, flushes and compactions. A failure
// consists of the program's seed and the shrunk program.

package struct QueryCampaign {
  /// The situations in which queries run. A campaign in which one of them never occurred proves nothing about
  /// it.
  package enum Kind: String, CaseIterable, Sendable {
    case ordered
    case sorted
    case filtered
    /// The index keys alone determine the result.
    case exact
    /// The result is the intersection of several index ranges.
    case joined
    /// The result is the union of several index ranges, which are merged in order.
    case merged
    /// The result is the union of several index ranges, which is then sorted.
    case gathered
    case backward
    case severalRanges
    case documentsByName
    case nothingMatches
    case longKeys
    case nestedNames
    case keysOnlyCounts
    case sums
    /// An aggregation is computed from index keys, without reading documents.
    case sumsFromKeys
    case groups
    case cursors
    case firstLimits
    case lastLimits
    case emptyAnswers
    /// The result has more documents than one batch of reads.
    case severalWaves
    case borrowed
    case storedRecords
    case snapshots
    /// A snapshot is read after later commits, which it must not see.
    case olderSnapshots
    case indexesBuiltForQueries
    case indexesCreatedBefore
    /// An index covers only some of the query's equality filters.
    case partialIndexes
    case evictedIndexes
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

  /// Runs all programs from number `first` on. `progress` is called with the number of completed queries.
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
  /// The number of the program's step that failed.
  var step: Int
  var what: String
}
