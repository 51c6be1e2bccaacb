// The kinds of failures that a campaign can find.

/// A violated guarantee.
package struct Finding: Error, Sendable, CustomStringConvertible {
  package enum Kind: String, CaseIterable, Sendable {
    /// P1, P5: a commit that was acknowledged or visible is lost.
    case lostCommit = "lost acknowledged commits"
    /// P3, P4: the store contains something that must not exist.
    case ghost = "resurrected deletes and other ghosts"
    /// P2: the contents do not match any prefix of the commits.
    case tornBatch = "torn batches"
    /// An error such as `corrupted` for a disk state that a crash can leave.
    case falseAlarm = "false alarms"
    /// P7: the report omits dropped bytes, or names a loss that did not occur.
    case wrongReport = "wrong recovery reports"
    /// C12: a log that existed at an open has changed.
    case oldLog = "old logs written to"
    /// P9: a commit succeeded after an unknown outcome, or a store did not open after a fault.
    case dishonest = "wrong answers to a fault"
  }

  package var kind: Kind
  package var text: String

  init(_ kind: Kind, _ text: String) {
    self.kind = kind
    self.text = text
  }

  package var description: String { "\(kind.rawValue): \(text)" }
}
