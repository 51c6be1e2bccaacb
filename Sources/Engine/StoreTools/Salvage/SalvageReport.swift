// The result of a salvage, and the data that it could not recover.

package import ByteStore

package struct SalvageReport: Sendable, Equatable {
  package enum Outcome: String, Sendable {
    /// Nothing was damaged, and nothing was changed.
    case healthy
    /// Nothing was damaged. Directory entries of another kind that had the names of store files were
    /// quarantined.
    case cleared
    case salvaged
    /// This salvage completed the switch of an earlier, interrupted salvage.
    case completed
  }

  package enum CheckpointUse: String, Sendable {
    /// The checkpoint identified the current value of each key.
    case whole
    /// For some keys, the newest entry found was used.
    case partial
    /// For all keys, the newest entry found was used.
    case none
  }

  package var outcome = Outcome.healthy
  /// The id of the store after the salvage. A salvaged store gets a new id.
  package var storeID = RandomID.zero
  /// The damage that the initial check found.
  package var damage: [Damage] = []
  /// The originals in quarantine, with their new names.
  package var quarantined: [String] = []
  /// Originals that belong to another store and were not used.
  package var foreign: [String] = []
  /// The number of the store's files that were at least partly readable.
  package var filesRead = 0

  package var keys = 0
  /// Entries that the upper layer cannot decode. Only the quarantined files contain them.
  package var undecodable = UndecodableEntries()
  /// An upper bound for the number of keys in the store that had been deleted or whose later value is lost.
  package var keysPossiblyStale = 0
  /// The number of lost entries according to the checkpoint; nil if the checkpoint does not show it.
  package var entriesLost: Int?
  /// The number of those that `SalvageObserver` has not named, because their keys are unreadable or belong to
  /// no document; nil if it is unknown, or if there is no observer.
  package var entriesUnnamed: Int?
  package var checkpoint = CheckpointUse.none
  package var commitsApplied = 0
  /// Ranges of commits that are missing between commits that were found. Their changes are not in the store,
  /// unless the segments contain these changes.
  package var commitsMissing: [ClosedRange<UInt64>] = []
  /// Parts of logs that should contain commits, or may have contained commits, and that could not be
  /// read.
  package var gaps: [RecoveryReport.Loss] = []

  mutating func addGap(_ file: String, _ range: Range<UInt64>, reason: String) {
    gaps.append(
      RecoveryReport.Loss(
        file: file, offset: range.lowerBound, length: range.upperBound - range.lowerBound, reason: reason))
  }
}
