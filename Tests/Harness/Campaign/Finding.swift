// What a check can find wrong.

/// A promise that did not hold.
package struct Finding: Error, Sendable, CustomStringConvertible {
  package enum Kind: String, CaseIterable, Sendable {
    /// P1, P5: an acknowledged or shown commit is gone.
    case lostCommit = "lost acknowledged commits"
    /// P3, P4: something is there that must not be.
    case ghost = "resurrected deletes and other ghosts"
    /// P2: the contents are those of no prefix of the commits.
    case tornBatch = "torn batches"
    /// `corrupted` or the like for a disk that a crash can leave.
    case falseAlarm = "false alarms"
    /// P7: bytes were dropped and the report does not say so, or the report tells of a loss that was none.
    case wrongReport = "wrong recovery reports"
    /// C12: a log that was there at an opening is not what it was.
    case oldLog = "old logs written to"
    /// P9: a commit succeeded after one whose outcome is unknown, or a store did not open after a fault.
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
