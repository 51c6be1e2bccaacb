// Compares random programs with a dictionary (docs/reliability.md, T5), on a simulated disk without faults.
//
// Each program starts with an empty store and runs `programOperations` operations. A failure consists of
// the program's seed and the number of the failing operation.

package import ByteStore

package struct ModelCampaign {
  /// The kinds of operations; a campaign that never ran one of them proves nothing about it.
  package enum Kind: String, CaseIterable, Sendable {
    case commits
    case commitsBetweenFlushSteps
    case reads
    case maintenances
    case closes
    case abandons
    case flushesAsNeeded
    case flushesOfEverything
    /// A flush rewrote a segment and deleted the old one.
    case compactions
    /// A flush left several segments.
    case storesOfSeveralSegments
    case snapshotsOpened
    case snapshotsOpenedBetweenFlushSteps
    /// Read key by key.
    case snapshotsRead
    /// Read by a full scan.
    case snapshotsWalked
    /// Still open when the store was closed, so that it must refuse reads.
    case snapshotsOutlived
    /// Values that need several pages of a segment, and those of a hundred pages.
    case largeValues
    case hugeValues
    /// A page of the key directory was split.
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

  /// `breaking` switches off a rule of the engine, which the campaign should detect. `progress` is called
  /// with the number of completed operations.
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
