// Compares functions on the bytes of records with the same functions on entries.
//
// A program has a pool of documents. Each is kept twice: its fields are entries, and a record. Each step
// applies one mutation to both. Results, errors, sizes, shapes, index keys and verdicts of equality must be
// the same. The record after a mutation must have the bytes that an encoding of the entries gives. For this,
// a second dictionary of shapes gets the same documents in the same order.

package struct RecordCampaign {
  /// The situations of a campaign. A campaign in which one of them never occurred proves nothing about it.
  package enum Kind: String, CaseIterable, Sendable {
    case creations
    case patches
    /// A patch replaces scalars only, in one pass over the record.
    case scalarPatches
    case replacements
    case deletions
    case refusals
    /// The mutation copies from a record, not from entries.
    case patchesFromRecords
    case nestedPatches
    case transforms
    /// The mutation changes no field.
    case unchanged
    /// Fields are added or removed.
    case otherNames
    case fieldsWithShape
    case fieldsWithNames
    /// A number in a table has two bytes, or four.
    case wideTables
    case widestTables
    case documentsWithinLimits
    case documentsBeyondLimits
    case equalDocuments
    case differentDocuments
    /// Records of two dictionaries are compared.
    case equalInOtherShapes
    case equalWithOtherBytes
    case indexKeys
    case damagedRecords
    /// A damaged record that is still valid.
    case damagedAndValid
  }

  package struct Summary: Sendable {
    package var steps = 0
    package var programs = 0
    package var counts: [Kind: Int] = [:]
    package var failure: String?

    package var neverReached: [Kind] { Kind.allCases.filter { counts[$0, default: 0] == 0 } }

    mutating func count(_ kind: Kind, if happened: Bool = true) {
      if happened { counts[kind, default: 0] += 1 }
    }
  }

  private static let programSteps = 200

  /// Runs programs with this number of steps in total. `progress` is called with the number of completed
  /// steps.
  package static func run(steps: Int, seed: UInt64, progress: (Int) -> Void = { _ in }) -> Summary {
    var summary = Summary()
    while summary.steps < steps, summary.failure == nil {
      var run = RecordRun(seed: SeededRandom.seed(seed, UInt64(summary.programs)))
      for step in 0..<min(programSteps, steps - summary.steps) {
        do throws(RecordFailure) {
          try run.step(&summary)
        } catch {
          summary.failure = "seed \(seed), program \(summary.programs), step \(step): \(error.what)"
          break
        }
        summary.steps += 1
      }
      summary.programs += 1
      progress(summary.steps)
    }
    return summary
  }
}

struct RecordFailure: Error {
  let what: String

  init(_ what: String) { self.what = what }
}
