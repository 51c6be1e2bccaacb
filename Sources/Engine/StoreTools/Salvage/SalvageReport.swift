// What a salvage did, and what it could not get back.

package import ByteStore

package struct SalvageReport: Sendable, Equatable {
  package enum Outcome: String, Sendable {
    /// Nothing was damaged, and nothing was done.
    case healthy
    /// Nothing was damaged. Something that is no file had names of the store's files, and is set aside.
    case cleared
    case salvaged
    /// An earlier salvage had gathered everything and was cut off; now it is complete.
    case completed
  }

  package enum CheckpointUse: String, Sendable {
    /// It told which entry is the value of each key.
    case whole
    /// For some keys the newest entry that was found had to do.
    case partial
    /// For all keys.
    case none
  }

  package var outcome = Outcome.healthy
  /// Of the store as it is now; salvage draws a new one.
  package var storeID = RandomID.zero
  /// What the check before found.
  package var damage: [Damage] = []
  /// The originals, under the names that they have now.
  package var setAside: [String] = []
  /// Those of them that belong to another store, and were not used.
  package var foreign: [String] = []
  /// Files of the store of which something could be read.
  package var filesRead = 0

  package var keys = 0
  /// Entries that the layer above cannot decode. They are only in the files that were set aside.
  package var undecodable = UndecodableEntries()
  /// At most so many of them were deleted, or have a later value that is lost.
  package var keysPossiblyStale = 0
  /// Entries that are gone, as far as the checkpoint tells; nil if it does not.
  package var entriesLost: Int?
  package var checkpoint = CheckpointUse.none
  package var commitsApplied = 0
  /// Commits between those that were found, first and last; none of them is in the store, unless the
  /// segments have it.
  package var commitsMissing: [ClosedRange<UInt64>] = []
  /// What logs should have had and did not, or may have had.
  package var gaps: [RecoveryReport.Loss] = []

  mutating func addGap(_ file: String, _ range: Range<UInt64>, _ reason: String) {
    gaps.append(
      RecoveryReport.Loss(
        file: file, offset: range.lowerBound, length: range.upperBound - range.lowerBound, reason: reason))
  }
}
