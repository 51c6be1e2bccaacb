// Optimistic validation of a transaction's reads.
//
// A transaction commits only if its reads would have the same results at its place in the commit order.
//
//   1. look ahead: without a lock, scan the changes since the transaction began. Repeat the scan for the
//      changes that were committed meanwhile, until few changes are left.
//   2. decide: under the lock of the order, check the remaining changes and the pending changes.
//
// As a result, a transaction that was open for a long time among many writers holds the lock no longer than
// any other transaction.
//
// For completed commits, only the last state of each document matters, so a change that was undone is no
// conflict. A pending commit can still fail while this transaction succeeds. Therefore each state that a
// pending commit writes is checked in addition to the completed states. This check aborts a few transactions
// that could have committed. When such a transaction is retried, it waits for the pending commits first.

struct TransactionCheck {
  /// The look-ahead ends after a round that found at most this many changes. About as many changes are then
  /// left to check under the lock.
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
  /// The keys in `verdicts` whose verdict is a conflict.
  private var conflicts: Set<[UInt8]> = []
  /// Changes before this position in the history have been checked.
  private var end: UInt64 = 0
  /// Number of changes that were checked under the lock.
  private(set) var checkedUnderLock = 0

  init(_ reads: TransactionReads) { self.reads = reads }

  /// Checks the changes since the transaction began, until few changes are left to check under the lock.
  /// `order` returns the current history and the pending changes.
  mutating func lookAhead(_ order: () -> (history: CommitHistory.Copy, pending: [CommitHistory.Change])) {
    for _ in 0..<Self.roundsMax {
      let (history, pending) = order()
      let rest = history.end - end
      look(at: history)
      for change in pending { pendingVerdicts[State(change)] = verdict(change) }
      guard rest > Self.restMax else { return }
    }
  }

  /// Returns a description of a conflict, or nil if no read has changed.
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
    // The latest changes come first, so most earlier changes need no comparison.
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
