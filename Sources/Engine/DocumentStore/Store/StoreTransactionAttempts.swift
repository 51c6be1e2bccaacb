// All attempts of one transaction, and its locks.
//
// 1. The first attempt is optimistic. It uses no lock unless it touches a document that another transaction
//    holds or awaits. It then waits in the order of age, like the others.
// 2. After a lost race, the next attempt first acquires the locks of everything that the failed attempts have
//    touched. It then begins with a snapshot that includes the commits of the earlier holders.
// 3. The locks last until the transaction ends, over all further attempts.
//
// A transaction that touches the same documents in each attempt therefore loses at most to transactions that
// were already committing when it got its locks, and to plain writes, which take no part.

import ByteStore

/// Begins the attempts of one transaction. Not for concurrent use, except `cancel`.
package final class StoreTransactionAttempts: Sendable {
  private struct State {
    /// The number of the first attempt, which is the transaction's age.
    var age: LockTable.Age?
    var ticket: LockTicket?
    /// The keys that the attempts have touched that lost a race.
    var touched: Set<RecordKey> = []
    /// Whether the last attempt has lost a race.
    var hasLost = false
    var isCancelled = false
  }

  private let store: DocumentStore
  private let state = Locked(State())

  package init(of store: DocumentStore) { self.store = store }

  deinit { end() }

  package func begin() throws(DocumentStoreError) -> StoreTransaction {
    try StoreTransaction(of: store, in: self)
  }

  /// Waits until the next attempt may succeed: for the transaction's turn, if the last attempt has lost a
  /// race, and for the commits in progress.
  ///
  /// Throws `aborted` if the transaction has waited too long, or if it was cancelled while it waited.
  package func wait(beforeAttempt attempt: Int) throws(DocumentStoreError) {
    let (hasLost, touched) = state.withLock { state in
      defer { state.hasLost = false }
      return (state.hasLost, state.touched)
    }
    guard hasLost else { return store.waitBeforeAttempt(attempt) }
    let ticket = takeTicket()
    // A victim has lost the locks of its earlier attempts. Without locks, it cannot become a victim again.
    while case .victim = try store.locks.acquire(touched, for: ticket) {}
    store.pipeline.waitForCommitsInProgress()
  }

  /// Lets the transaction fail instead of waiting, now and later. Any thread may call this.
  package func cancel() {
    let ticket = state.withLock { state in
      state.isCancelled = true
      return state.ticket
    }
    if let ticket { store.locks.cancel(ticket) }
  }

  /// Releases the locks. Must be called after the last attempt.
  package func end() {
    let ticket = state.withLock { state in
      defer { state.ticket = nil }
      return state.ticket
    }
    if let ticket { store.locks.end(ticket) }
  }

  // MARK: One attempt

  func didBegin(_ number: UInt64) {
    state.withLock { $0.age = $0.age ?? number }
  }

  func didLose(_ keys: [RecordKey]) {
    state.withLock { state in
      state.touched.formUnion(keys)
      state.hasLost = true
    }
  }

  /// Waits for the transaction's turn at these keys, and returns whether it has waited. Throws `aborted` if
  /// the attempt must end. Called only if the store's locks are contended.
  func takeTurn(at keys: [RecordKey]) throws(DocumentStoreError) -> Bool {
    guard state.withLock({ $0.ticket != nil }) || store.locks.isAnyTaken(keys) else { return false }
    switch try store.locks.acquire(keys, for: takeTicket()) {
    case .granted(let hasWaited): return hasWaited
    case .victim:
      throw .aborted(
        "The transaction cannot be committed: an older transaction waits for a document that it has locked.")
    }
  }

  private func takeTicket() -> LockTicket {
    let (ticket, isCancelled) = state.withLock { state in
      let ticket = state.ticket ?? LockTicket(age: state.age ?? .max)
      state.ticket = ticket
      return (ticket, state.isCancelled)
    }
    if isCancelled { store.locks.cancel(ticket) }
    return ticket
  }
}
