// The total order of commits, and the pending document states of commits that are not durable yet.
//
// Invariants:
// - Commit times strictly increase, by at least one microsecond, whatever the wall clock does. A clock in the
//   last valid year is rejected, so that every store has times left for later commits.
// - Each commit in progress leaves one pending state of every document that it changes. The pending states of
//   a document are in commit order. A new commit builds on the latest pending state, or on the stored
//   document if there is none. Readers see only the store.
// - A commit that builds on a pending state declares a commit dependency on the commit that left this state.
// - A pending state is removed when its commit completes. By then the commit is visible to readers, or it has
//   failed.
// - While a transaction is open, the changes of later commits are kept within a budget. If the budget is
//   exceeded, the oldest changes are dropped. A transaction that began before the dropped changes can no
//   longer be validated.

import ByteStore

struct CommitOrder {
  /// The state of one document after a commit that is still in progress.
  struct Pending {
    let commit: PendingCommit
    let after: StoredDocument?
  }

  private struct CommitInOrder {
    let number: UInt64
    let commit: PendingCommit
    let effects: CommitEffects
  }

  /// Time of the last commit, in microseconds.
  private(set) var lastTime: Int64
  private var nextNumber: UInt64 = 1
  /// The number of transactions that were opened, including those that have ended.
  private var transactionsOpened: UInt64 = 0
  private var pending = PendingStates()
  /// The commits in progress, in commit order.
  private var inProgress: [CommitInOrder] = []
  private var history = CommitHistory()
  var feed: FeedLedger
  /// The number of callers that wait until no commit is in progress. While it is not 0, new commits wait.
  var quiesceRequests = 0
  /// The number of threads that wait for commits to complete.
  var completionWaiters = 0

  init(lastTime: Int64, feed: FeedLedger) {
    self.lastTime = lastTime
    self.feed = feed
  }

  var isQuiescent: Bool { inProgress.isEmpty }
  var isOpen: Bool { quiesceRequests == 0 }
  var lastNumber: UInt64 { nextNumber - 1 }

  func isComplete(through number: UInt64) -> Bool { inProgress.first.map { $0.number > number } ?? true }

  /// 9999-01-01T00:00:00Z. The clock must show an earlier time. A commit gets a later time only if it is 1 µs
  /// after the time of the last commit.
  private static let clockEnd: Int64 = 253_370_764_800_000_000

  /// Returns the time for the next commit. Throws, without using up a time, if the clock is out of range or
  /// no valid time is left.
  func nextTime(_ clock: any StoreClock) throws(DocumentStoreError) -> StoredTimestamp {
    let wall = clock.wallMicroseconds()
    guard wall < Self.clockEnd else {
      throw .invalidArgument(
        "The clock says \(wall) µs since 1970, and commits must be before the year 9999. Set the clock. Nothing was "
          + "written.")
    }
    guard let time = StoredTimestamp(microseconds: max(wall, lastTime + 1)) else {
      throw .failedPrecondition(
        "The last commit of the store has the last possible time, 9999-12-31T23:59:59.999999Z, so that no commit can come "
          + "after it. Reads still work: export the documents, and import them into a new store. Nothing was written."
      )
    }
    return time
  }

  /// Makes all later commits later than `time`. Returns the time of the last commit before this call.
  mutating func raise(to time: Int64) -> Int64 {
    defer { lastTime = max(lastTime, min(time, Self.clockEnd)) }
    return lastTime
  }

  /// The latest pending state of a document whose commit has not failed; nil if there is none.
  func pending(_ key: [UInt8], hash: UInt64) -> Pending? {
    guard !pending.isEmpty else { return nil }
    for state in pending.states(of: hash, isSame: { self.key(of: $0) == key }) {
      let commit = commit(state.number)
      if !commit.commit.isRefused {
        return Pending(commit: commit.commit, after: commit.effects.changes[Int(state.place)].after)
      }
    }
    return nil
  }

  private func key(of state: PendingStates.State) -> [UInt8] {
    commit(state.number).effects.changes[Int(state.place)].key
  }

  /// A commit in progress.
  private func commit(_ number: UInt64) -> CommitInOrder {
    var (low, high) = (0, inProgress.count)
    while low < high {
      let middle = (low + high) / 2
      if inProgress[middle].number < number { low = middle + 1 } else { high = middle }
    }
    precondition(
      low < inProgress.count && inProgress[low].number == number, "a pending state belongs to a commit")
    return inProgress[low]
  }

  /// Adds a commit to the order and returns its number.
  mutating func begin(_ commit: PendingCommit, _ effects: CommitEffects) -> UInt64 {
    let number = nextNumber
    nextNumber += 1
    inProgress.append(CommitInOrder(number: number, commit: commit, effects: effects))
    lastTime = effects.time.microseconds
    let changes = effects.changes
    // The states are taken out of this structure, so that the keys of other commits can be read meanwhile.
    var states = PendingStates()
    swap(&states, &pending)
    states.reserve(changes.count)
    // Use a buffer pointer, because each access to an array element would retain the document.
    unsafe changes.withUnsafeBufferPointer { changes in
      for place in changes.indices {
        let hash = unsafe changes[place].lookup.hash
        states.add(hash, number: number, place: place) { unsafe key(of: $0) == changes[place].key }
      }
    }
    pending = states
    return number
  }

  /// Completes a commit. Returns the parts that were dropped from the history, so that the caller can free
  /// them after it has released the lock.
  mutating func complete(
    _ number: UInt64, _ changes: [CommitChange], succeeded: Bool
  ) -> [CommitHistory.Part] {
    // If this commit is visible, its state also replaces the pending states that earlier commits left of the
    // same documents, whether these commits have completed or not.
    unsafe changes.withUnsafeBufferPointer { changes in
      for place in changes.indices {
        let hash = unsafe changes[place].lookup.hash
        pending.remove(hash, number: number, place: place, andEarlier: succeeded)
      }
    }
    if let place = inProgress.firstIndex(where: { $0.number == number }) { inProgress.remove(at: place) }
    return succeeded ? history.add(number, changes) : []
  }

  // MARK: Transactions

  /// Opens a transaction. Returns its floor, and its number in the order in which transactions are opened.
  /// The floor is the number of the first commit that a snapshot taken after this call may lack.
  mutating func openTransaction() -> (floor: UInt64, number: UInt64) {
    let floor = inProgress.first?.number ?? nextNumber
    history.keep(from: floor)
    transactionsOpened += 1
    return (floor, transactionsOpened)
  }

  mutating func closeTransaction(_ floor: UInt64) -> [CommitHistory.Part] { history.release(of: floor) }

  /// The changes of completed commits and of commits in progress, for `TransactionCheck`.
  var changes: (history: CommitHistory.Copy, pending: [CommitHistory.Change]) {
    (history.copy, statesInProgress)
  }

  /// The pending states left by all commits that have not failed.
  private var statesInProgress: [CommitHistory.Change] {
    var changes: [CommitHistory.Change] = []
    changes.reserveCapacity(pending.count)
    pending.forEach { state in
      let commit = commit(state.number)
      guard !commit.commit.isRefused else { return }
      let change = commit.effects.changes[Int(state.place)]
      changes.append(CommitHistory.Change(number: state.number, key: change.key, after: change.after))
    }
    return changes
  }

  /// Describes why the transaction cannot be committed, such as a conflict with a document that it has read;
  /// nil if it can be committed.
  func conflict(_ check: inout TransactionCheck?, since floor: UInt64) -> String? {
    guard history.reaches(backTo: floor) else { return "it has been open for too long" }
    return check?.decide(history.copy, pending: statesInProgress)
  }
}
