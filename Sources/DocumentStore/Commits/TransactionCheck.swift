// Whether a transaction can be committed: what it has read must be what it would read where it gets its place.
//
//   1. look ahead   without a lock, through what commits made of documents since the transaction began, and again
//                   through what came meanwhile, until that is little
//   2. decide       under the lock of the order, with what came after that and what is under way
//
// So a transaction that has been open for long, among many writers, holds them up no longer than another one.
//
// Of each document the last state decides, by the numbers of the commits: what came and went again is no conflict.

struct TransactionCheck {
  /// What is left to be looked at under the lock, if it can be.
  static let restMax = 64
  private static let roundsMax = 16

  private struct Verdict {
    let number: UInt64
    let conflict: TransactionReads.Conflict?
  }

  private let reads: TransactionReads
  private var verdicts: [[UInt8]: Verdict] = [:]
  /// Of what is under way: it may never happen, and then the others hold.
  private var pendingVerdicts: [[UInt8]: Verdict] = [:]
  /// The keys of verdicts with a conflict.
  private var conflicts: Set<[UInt8]> = []
  /// Changes before this are looked at.
  private var end: UInt64 = 0
  /// How many changes were looked at under the lock.
  private(set) var decidedLate = 0

  init(_ reads: TransactionReads) { self.reads = reads }

  /// `order` gives the history and what is under way as of now.
  mutating func lookAhead(_ order: () -> (history: CommitHistory.Copy, pending: [CommitHistory.Change])) {
    for _ in 0..<Self.roundsMax {
      let (history, pending) = order()
      let rest = history.end - end
      look(at: history)
      for change in pending { pendingVerdicts[change.key] = verdict(change) }
      guard rest > Self.restMax else { return }
    }
  }

  /// Nil if nothing is different from when it was read.
  mutating func decide(
    _ history: CommitHistory.Copy, pending: some Sequence<CommitHistory.Change>
  ) -> String? {
    decidedLate = Int(history.end - end)
    look(at: history)
    var underWay = Set<[UInt8]>()
    for change in pending {
      underWay.insert(change.key)
      var known = pendingVerdicts[change.key]
      if known?.number != change.number {
        known = verdict(change)
        decidedLate += 1
      }
      if let conflict = known?.conflict { return conflict.text(change.key) }
    }
    guard let key = conflicts.first(where: { !underWay.contains($0) }) else { return nil }
    return verdicts[key]?.conflict?.text(key)
  }

  private func verdict(_ change: CommitHistory.Change) -> Verdict {
    Verdict(number: change.number, conflict: reads.conflict(change.key, change.after))
  }

  private mutating func look(at history: CommitHistory.Copy) {
    var changes: [CommitHistory.Change] = []
    history.forEach(since: reads.floor, behind: end) { changes.append($0) }
    // The last ones come first, so that most of the others need not be compared.
    for change in changes { look(at: change) }
    end = history.end
  }

  private mutating func look(at change: CommitHistory.Change) {
    if let known = verdicts[change.key], known.number >= change.number { return }
    let verdict = verdict(change)
    verdicts[change.key] = verdict
    if verdict.conflict == nil { conflicts.remove(change.key) } else { conflicts.insert(change.key) }
  }
}
