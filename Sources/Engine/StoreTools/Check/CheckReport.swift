// The result of a check: the damage found, and the amount of data checked.

package import ByteStore

/// Returns the problem with a key and its value, or nil. The upper layer decides what is valid.
package typealias EntryInspector = (_ key: RawSpan, _ value: RawSpan) -> String?

/// Returns the entries that must exist according to a checkpoint. `pages` returns the payload of each page of
/// a region, with nil for a damaged page.
package typealias SalvageRestore = (
  _ pages: (CheckpointRegion) -> [[UInt8]?]
) -> [(key: [UInt8], value: [UInt8])]

/// The progress of a check or a salvage.
package struct CheckProgress: Sendable, Equatable {
  /// The file being read.
  package var file: String
  package var bytesDone: UInt64
  /// The size of all files to read; an estimate if damage hides some of them.
  package var bytesTotal: UInt64
}

package struct CheckReport: Sendable, Equatable {
  /// The maximum number of findings in the list. Further findings are only counted, to keep the list readable
  /// and small.
  package static let findingsMax = 1000

  /// The damage found, in the order of discovery; at most `findingsMax` findings.
  package private(set) var findings: [Damage] = []
  /// The number of findings that are not in the list.
  package private(set) var findingsOmitted = 0
  /// Paths at which a directory entry of another kind, such as a link, has the name of a store file that the
  /// manifest does not list. The paths are also among the findings.
  package var namesTaken: [String] = []
  /// Torn tails: commit groups that were cut off before they were acknowledged. They are not damage, and
  /// the next open drops them.
  package var losses: [RecoveryReport.Loss] = []
  /// Files that no manifest names and that the next open deletes.
  package var leftovers: [String] = []
  /// Files that salvage put into quarantine.
  package var quarantined: [String] = []

  package var files = 0
  /// Files that flushes of the open store removed before they were checked.
  package var filesSkipped = 0
  package var bytesVerified: UInt64 = 0
  /// The number of keys at the last commit, or as many as can be counted despite damage.
  package var keys = 0
  /// The number of entries in segments, live and dead.
  package var entries: UInt64 = 0
  /// The number of bytes in segments that do not belong to the current value of any key, including free space
  /// in pages.
  package var deadBytes: UInt64 = 0
  package var lastCommit = SequenceNumber.none
  /// Entries that the upper layer cannot decode. They are also among the findings.
  package var undecodable = UndecodableEntries()

  package var isSound: Bool { findings.isEmpty }

  /// Adds a finding, unless another finding has the same position.
  mutating func add(_ damage: Damage) {
    guard !findings.contains(where: { $0.offset == damage.offset && $0.file == damage.file }) else { return }
    append(damage)
  }

  /// Adds a finding about an entry. Positions may repeat, because entries of different commits may have equal
  /// offsets in their commit bodies.
  mutating func addEntry(_ damage: Damage) { append(damage) }

  private mutating func append(_ damage: Damage) {
    guard findings.count < Self.findingsMax else {
      findingsOmitted += 1
      return
    }
    findings.append(damage)
  }
}
