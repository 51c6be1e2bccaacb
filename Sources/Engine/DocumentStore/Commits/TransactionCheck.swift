// Optimistic validation of a transaction's reads.
//
// A transaction commits only if its reads would have the same results at its place in the order.
//
//   1. look ahead   without a lock, scan the changes since the transaction began, and repeat for the
//                   changes that came meanwhile, until few are left
//   2. decide       under the lock of the order, check the remaining changes and the pending ones
//
// So a transaction that was open for long among many writers does not hold the lock longer than any other.
//
// Among completed commits, only the last state of each document matters. A change that was undone is no
// conflict. A pending commit can still fail while this transaction succeeds, so each of its states is
// checked in addition to the completed ones. This aborts a few transactions that could have committed. The
// retry waits for the pending commits first.

struct TransactionCheck {
  /// Target for the number of changes left to check under the lock.
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

  /// Verdicts on pending changes.
  private var pendingVerdicts: [State: Verdict] = [:]
  /// The keys of verdicts with a conflict.
  private var conflicts: Set<[UInt8]> = []
  /// Changes before this have been checked.
  private var end: UInt64 = 0
  /// Number of changes that were checked under the lock.
  private(set) var checkedUnderLock = 0

  init(_ reads: TransactionReads) { self.reads = reads }

  /// `order` returns the current history and pending changes.
  mutating func lookAhead(_ order: () -> (history: CommitHistory.Copy, pending: [CommitHistory.Change])) {
    for _ in 0..<Self.roundsMax {
      let (history, pending) = order()
      let rest = history.end - end
      look(at: history)
      for change in pending { pendingVerdicts[State(change)] = verdict(change) }
      guard rest > Self.restMax else { return }
    }
  }

  /// Describes a conflict; nil if no read has changed.
  mutating func decide(
    _ history: CommitHistory.Copy, pending: some Sequence<CommitHistory.Change>
  ) -> String? {
    checkedUnderLock = Int(history.end - end)
    look(at: history)
    for change in pending {
      let known = pendingVerdicts[State(change)]
      if known == nil { checkedUnderLock += 1 }
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
    // The latest changes come first, so most older ones need no comparison.
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
