// The locks of a store's contended transactions, and the threads that wait for them.
//
// A transaction without conflicts does not use the table. Before it touches a document, it only reads
// `isContended`. After a lost race, a transaction gets a ticket, and the rules of LockTable apply to it until
// it ends. A first attempt gets a ticket too when it touches a document that another transaction holds or
// awaits.

import ByteStore
import Synchronization

/// Limits on the locks of transactions.
package struct TransactionLockLimits: Sendable {
  /// The time after which a lock ends if another transaction waits for it, in nanoseconds.
  package var holdMax: UInt64 = 5_000_000_000
  /// The time that a transaction waits for locks, over all its attempts, in nanoseconds.
  package var waitMax: UInt64 = 60_000_000_000

  package init() {}
}

/// A transaction's place among the transactions that wait for each other.
final class LockTicket: Sendable {
  let age: LockTable.Age
  fileprivate let signal = Signal()
  fileprivate let isCancelled = Atomic<Bool>(false)

  init(age: LockTable.Age) { self.age = age }
}

package final class TransactionLocks: Sendable {
  package struct Counts: Sendable, Equatable {
    /// The number of times that a transaction looked at the table.
    package var uses = 0
    /// The number of requests that were not granted at once.
    package var waits = 0
    /// The number of waiting transactions that lost their locks to an older one.
    package var victims = 0
    /// The number of locks that ended before their transactions.
    package var expired = 0
  }

  private struct Ticket {
    let signal: Signal
    /// The time that the transaction has waited in completed requests, in nanoseconds.
    var waited: UInt64 = 0
    var isWoken = false
  }

  private struct State {
    var table: LockTable
    var tickets: [LockTable.Age: Ticket] = [:]
    var isClosed = false
    var uses = 0
    var waits = 0

    func isWoken(_ age: LockTable.Age) -> Bool { tickets[age]?.isWoken ?? true }

    func hasWaiting(_ count: Int) -> Bool { table.waitingCount >= count }

    /// Marks the transactions whose threads must look at the table again, and returns their signals.
    mutating func takeSignals() -> [Signal] {
      table.takeWoken().compactMap { age in
        tickets[age]?.isWoken = true
        return tickets[age]?.signal
      }
    }
  }

  private let directory: String
  private let limits: TransactionLockLimits
  private let clock: any StoreClock
  private let pauses: (any StorePauses)?
  private let state: Locked<State>
  /// The number of transactions in the table. Changed under the lock, and read without it.
  private let ownerCount = Atomic<Int>(0)

  init(
    directory: String, limits: TransactionLockLimits, clock: any StoreClock, pauses: (any StorePauses)?
  ) {
    self.directory = directory
    self.limits = limits
    self.clock = clock
    self.pauses = pauses
    state = Locked(State(table: LockTable(holdMax: limits.holdMax)))
  }

  /// Whether any transaction holds or awaits a lock.
  package var isContended: Bool { ownerCount.load(ordering: .acquiring) > 0 }

  package var counts: Counts {
    state.withLock { state in
      Counts(
        uses: state.uses, waits: state.waits, victims: state.table.victimCount,
        expired: state.table.expiredCount)
    }
  }

  /// Whether a transaction holds or awaits one of the keys.
  func isAnyTaken(_ keys: [RecordKey]) -> Bool {
    state.withLock { state in
      state.uses += 1
      return keys.contains { state.table.isTaken($0) }
    }
  }

  // MARK: Acquiring

  private enum Step {
    case done(Result<Void, DocumentStoreError>)
    case victim
    case wait(nanoseconds: UInt64)
  }

  enum Answer {
    /// The transaction has all locks. If it has waited, its snapshot may be out of date.
    case granted(hasWaited: Bool)
    /// The transaction has lost all its locks to an older one.
    case victim
  }

  /// Acquires locks on all keys together, in addition to those that the transaction has. Blocks the thread.
  ///
  /// Throws `aborted` if the transaction has waited too long or was cancelled, and `closed` if the store was
  /// closed. The transaction then has no locks.
  func acquire(
    _ keys: some Sequence<RecordKey>, for ticket: LockTicket
  ) throws(DocumentStoreError) -> Answer {
    let keys = LockKey.sorted(keys)
    let begin = clock.monotonicNanoseconds()
    let isGranted = update { state in
      state.uses += 1
      state.tickets[ticket.age, default: Ticket(signal: ticket.signal)].isWoken = false
      state.table.request(keys, by: ticket.age, now: begin)
      let isGranted = state.table.status(of: ticket.age) == .ready && !state.isClosed
      if !isGranted { state.waits += 1 }
      return isGranted
    }
    guard !isGranted else { return .granted(hasWaited: false) }
    // Other threads may wait until this one waits.
    state.wakeAll()
    while true {
      switch step(ticket, since: begin) {
      case .done(let result):
        try result.get()
        return .granted(hasWaited: true)
      case .victim: return .victim
      case .wait(let nanoseconds): sleep(ticket, nanoseconds)
      }
    }
  }

  /// Decides what the waiting transaction does next.
  private func step(_ ticket: LockTicket, since begin: UInt64) -> Step {
    let age = ticket.age
    let now = clock.monotonicNanoseconds()
    return update { state in
      state.tickets[age]?.isWoken = false
      state.table.endExpired(awaitedBy: age, now: now)
      let waited = (state.tickets[age]?.waited ?? 0) + (now - begin)
      if let error = failure(of: ticket, state, waited: waited) {
        state.tickets[age]?.waited = waited
        state.table.end(age, now: now)
        return .done(.failure(error))
      }
      switch state.table.status(of: age) {
      case .waiting:
        let end = state.table.nextEnd(awaitedBy: age).map { $0 > now ? $0 - now : 0 }
        return .wait(nanoseconds: min(end ?? .max, limits.waitMax - waited))
      case .ready, .victim:
        state.tickets[age]?.waited = waited
        return state.table.status(of: age) == .victim ? .victim : .done(.success(()))
      }
    }
  }

  private func failure(of ticket: LockTicket, _ state: State, waited: UInt64) -> DocumentStoreError? {
    if state.isClosed { return DocumentStoreError(.closed(directory: directory)) }
    guard state.table.status(of: ticket.age) == .waiting else { return nil }
    if ticket.isCancelled.load(ordering: .acquiring) {
      return .aborted(
        "The transaction cannot be committed: the database was terminated while it waited for its turn.")
    }
    guard waited >= limits.waitMax else { return nil }
    let name = state.table.firstWanted(by: ticket.age)
      .flatMap { DocumentKey.decode($0.bytes)?.description }
    return .aborted(
      "The transaction cannot be committed: it has waited \(limits.waitMax / 1_000_000_000) seconds for other "
        + "transactions that use \(name.map { "the document \($0)" } ?? "the same collection").")
  }

  private func sleep(_ ticket: LockTicket, _ nanoseconds: UInt64) {
    if let pauses { return pauses.pause(at: .waiting) }
    state.withLock(wokenBy: ticket.signal, within: nanoseconds, when: { $0.isWoken(ticket.age) }) { _ in }
  }

  // MARK: Ends

  /// Releases all locks of a transaction.
  func end(_ ticket: LockTicket) {
    let now = clock.monotonicNanoseconds()
    update { state in
      state.table.end(ticket.age, now: now)
      state.tickets[ticket.age] = nil
    }
  }

  /// Ends the wait of a transaction, and lets its later waits fail at once.
  func cancel(_ ticket: LockTicket) {
    ticket.isCancelled.store(true, ordering: .releasing)
    state.withLock { $0.tickets[ticket.age]?.isWoken = true }
    ticket.signal.wake()
  }

  /// Ends the waits of all transactions. They throw `closed`.
  func close() {
    update { $0.isClosed = true }
    wakeWaitingThreads()
  }

  /// Lets all waiting threads look at the clock, for tests that set it.
  package func wakeWaitingThreads() {
    let signals = state.withLock { state in
      for age in Array(state.tickets.keys) { state.tickets[age]?.isWoken = true }
      return state.tickets.values.map(\.signal)
    }
    for signal in signals { signal.wake() }
  }

  /// Blocks until this number of transactions wait, for tests.
  package func waitUntilWaiting(_ count: Int) {
    state.withLock(when: { $0.hasWaiting(count) }) { _ in }
  }

  /// Changes the table, and wakes the threads whose requests are concerned.
  private func update<Value>(_ body: (inout State) -> Value) -> Value {
    let (value, signals) = state.withLock { state in
      let value = body(&state)
      ownerCount.store(state.table.ownerCount, ordering: .releasing)
      return (value, state.takeSignals())
    }
    for signal in signals { signal.wake() }
    return value
  }
}
