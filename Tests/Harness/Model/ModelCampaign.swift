// Compares random programs with a dictionary (docs/reliability.md, T5), on a simulated disk without faults.
//
// Each program starts with an empty store and runs `programOperations` operations. A failure consists of
// the program's seed and the number of the failing operation.

package import ByteStore

package struct ModelCampaign {
  /// The kinds of operations and of situations. A campaign in which one of them never occurred proves nothing
  /// about it.
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
    /// A snapshot was read key by key.
    case snapshotsRead
    /// A snapshot was read by a full scan.
    case snapshotsWalked
    /// A snapshot was still open when its store was closed. It must then refuse reads.
    case snapshotsOutlived
    /// A value needs several pages of a segment, or a hundred pages in the case of `hugeValues`.
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

  /// Runs the campaign. `breaking` switches off a rule of the engine; the campaign should then report a
  /// failure. `progress` is called with the number of completed operations.
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
