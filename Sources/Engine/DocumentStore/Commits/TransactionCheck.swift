// Whether a transaction can be committed: what it has read must be what it would read where it gets its place.
//
//   1. look ahead   without a lock, through what commits made of documents since the transaction began, and again
//                   through what came meanwhile, until that is little
//   2. decide       under the lock of the order, with what came after that and what is under way
//
// So a transaction that has been open for long, among many writers, holds them up no longer than another one.
//
// Of what has happened, the last state of each document decides, by the numbers of the commits: what came and went again
// is no conflict. What is under way may never happen, and the transaction happen all the same: so each of its states
// counts, and hides nothing that was there before it. That aborts now and then what could stand; whoever tries again waits
// for what is under way first.

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
  private struct State: Hashable {
    let number: UInt64
    let key: RecordKey

    init(_ change: CommitHistory.Change) {
      number = change.number
      key = RecordKey(change.key)
    }
  }

  /// Of what is under way.
  private var pendingVerdicts: [State: Verdict] = [:]
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
      for change in pending { pendingVerdicts[State(change)] = verdict(change) }
      guard rest > Self.restMax else { return }
    }
  }

  /// Nil if nothing is different from when it was read.
  mutating func decide(
    _ history: CommitHistory.Copy, pending: some Sequence<CommitHistory.Change>
  ) -> String? {
    decidedLate = Int(history.end - end)
    look(at: history)
    for change in pending {
      let known = pendingVerdicts[State(change)]
      if known == nil { decidedLate += 1 }
      if let conflict = (known ?? verdict(change)).conflict { return conflict.text(change.key) }
    }
    guard let key = conflicts.first else { return nil }
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
