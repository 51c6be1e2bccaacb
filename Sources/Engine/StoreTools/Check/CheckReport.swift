// What a check found: damage, and numbers that tell how much was looked at.

package import ByteStore

/// Says what is wrong with a key and its value, or nil; the layer above knows what they must be.
package typealias EntryInspector = (_ key: RawSpan, _ value: RawSpan) -> String?

/// How far a check or a salvage has come.
package struct CheckProgress: Sendable, Equatable {
  /// The file that is being read.
  package var file: String
  package var bytesDone: UInt64
  /// Of all files that will be read; a guess where damage hides how much there is.
  package var bytesTotal: UInt64
}

package struct CheckReport: Sendable, Equatable {
  /// More are counted only: a list has to stay readable, and within memory.
  package static let findingsMax = 1000

  /// All damage, in the order in which it was found.
  package private(set) var findings: [Damage] = []
  /// Findings beyond those.
  package private(set) var findingsOmitted = 0
  /// Paths, also among the findings, that something else has than a file of the store.
  package var namesTaken: [String] = []
  /// Groups of commits that were cut off before they were acknowledged: no damage, and the next open drops
  /// them.
  package var losses: [RecoveryReport.Loss] = []
  /// Files that no manifest names and that the next open removes.
  package var leftovers: [String] = []
  /// Files that salvage took out of the way.
  package var setAside: [String] = []

  package var files = 0
  package var bytesVerified: UInt64 = 0
  /// As of the last commit; what can be counted if something is damaged.
  package var keys = 0
  /// In segments, dead ones too.
  package var entries: UInt64 = 0
  /// Of the segments, what is no key's value any more, and the free ends of pages.
  package var deadBytes: UInt64 = 0
  package var lastCommit = SequenceNumber.none
  /// Findings about entries that the layer above cannot decode.
  package var undecodable = UndecodableEntries()

  package var isSound: Bool { findings.isEmpty }

  /// What is wrong at one place is told once.
  mutating func add(_ damage: Damage) {
    guard !findings.contains(where: { $0.offset == damage.offset && $0.file == damage.file }) else { return }
    append(damage)
  }

  /// A finding about an entry of its own. Entries of several commits may begin at the same byte of their bodies.
  mutating func addEntry(_ damage: Damage) { append(damage) }

  private mutating func append(_ damage: Damage) {
    guard findings.count < Self.findingsMax else {
      findingsOmitted += 1
      return
    }
    findings.append(damage)
  }
}
