// Random programs against a plain dictionary (docs/reliability.md, T5), on a simulated disk without
// faults. Each program begins with an empty store and runs `programOperations` operations; a failure is
// the program's seed and the operation at which it showed.

package import ByteStore

package struct ModelCampaign {
  /// What programs do; a campaign that never did one of them has shown nothing about it.
  package enum Kind: String, CaseIterable, Sendable {
    case commits
    case commitsBetweenFlushSteps
    case reads
    case maintenances
    case closes
    case abandons
    case flushesAsNeeded
    case flushesOfEverything
    /// A flush wrote a segment anew and deleted the old one.
    case compactions
    /// A flush left several segments.
    case storesOfSeveralSegments
    case snapshotsOpened
    case snapshotsOpenedBetweenFlushSteps
    /// Read key by key.
    case snapshotsRead
    /// Read as a whole.
    case snapshotsWalked
    /// Still open when the store was closed: it must refuse.
    case snapshotsOutlived
    /// Values that need several pages of a segment, and those of a hundred of them.
    case largeValues
    case hugeValues
    /// A page of the table had to split.
    case storesOfManyKeys
    case storesWithoutCache
    case invariantChecks
  }

  package struct Summary: Sendable {
    package var operations = 0
    package var programs = 0
    package var counts: [Kind: Int] = [:]
    package var failure: String?

    package var neverReached: [Kind] { Kind.allCases.filter { counts[$0, default: 0] == 0 } }

    mutating func count(_ kind: Kind) { counts[kind, default: 0] += 1 }
  }

  private static let programOperations = 2000

  /// `breaking` makes the engine break a rule, which the campaign should notice.
  /// `progress` is told how many operations are done.
  package static func run(
    operations: Int, seed: UInt64, breaking rule: Rule? = nil, progress: (Int) -> Void = { _ in }
  ) -> Summary {
    var summary = Summary()
    while summary.operations < operations, summary.failure == nil {
      let programSeed = SeededRandom.seed(seed, UInt64(summary.programs))
      var program = ModelProgram(seed: programSeed, summary, breaking: rule)
      do throws(ModelFailure) {
        try program.run(min(programOperations, operations - summary.operations))
        summary = program.summary
      } catch {
        summary = program.summary
        summary.failure =
          "seed \(seed), program \(summary.programs), operation \(error.operation): \(error.what)"
      }
      summary.programs += 1
      progress(summary.operations)
    }
    return summary
  }
}

struct ModelFailure: Error {
  var operation: Int
  var what: String
}
