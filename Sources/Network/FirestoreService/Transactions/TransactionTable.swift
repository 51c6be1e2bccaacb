// The open transactions of a database.
//
// Invariants:
//   - A transaction is in the table from its beginning to its commit or rollback, or until it expires.
//   - It expires when no call has used it for the idle time, or when it has reached its maximum age. A call
//     that is using it can end first.
//   - While there are transactions, a timer is set that removes those that expire.

internal import ByteStore
internal import OfflineSync

final class TransactionTable: Sendable {
  /// The caller that began a transaction.
  struct Owner: Hashable, Sendable {
    var user: String?
    var connection: UInt64?

    /// The part of the owner to which the limit on open transactions applies. Nil for callers that cannot be
    /// told apart, which have the limit of the database only.
    fileprivate var limited: Owner? {
      guard connection == nil else { return Owner(user: nil, connection: connection) }
      return user == nil ? nil : self
    }
  }

  private struct Entry {
    let transaction: OpenTransaction
    let owner: Owner
    let begin: UInt64
    var lastUse: UInt64
    /// The number of calls that are using the transaction.
    var useCount = 0
  }

  private struct State {
    var entries: [TransactionID: Entry] = [:]
    var counts: [Owner: Int] = [:]
    var isTimerSet = false
    /// No transaction expires before this time.
    var nextExpiry = UInt64.max
  }

  private let options: ServiceOptions
  private let state = Locked(State())

  init(_ options: ServiceOptions) { self.options = options }

  deinit { for entry in state.withLock({ $0.entries }).values { entry.transaction.end() } }

  // MARK: Beginning

  /// Begins a transaction of a kind, which is only created if the limits allow another transaction.
  func begin(
    for owner: Owner, _ kind: () throws(RemoteError) -> OpenTransaction.Kind
  ) throws(RemoteError) -> OpenTransaction {
    removeExpired()
    try check(state.withLock { refused($0, owner) })
    let transaction = OpenTransaction(TransactionID(options.random), try kind())
    let now = options.clock.now()
    let (refusal, needsTimer): (Refusal?, Bool) = state.withLock { state in
      if let refusal = refused(state, owner) { return (refusal, false) }
      state.entries[transaction.id] = Entry(transaction: transaction, owner: owner, begin: now, lastUse: now)
      if let owner = owner.limited { state.counts[owner, default: 0] += 1 }
      state.nextExpiry = min(state.nextExpiry, now &+ min(idleMax, ageMax))
      defer { state.isTimerSet = true }
      return (nil, !state.isTimerSet)
    }
    try check(refusal)
    if needsTimer { setTimer() }
    return transaction
  }

  private typealias Refusal = (limit: ServiceRefusal, message: String)

  private func refused(_ state: borrowing State, _ owner: Owner) -> Refusal? {
    guard state.entries.count < options.transactionsMax else {
      return (
        .databaseTransactions,
        "The database has \(state.entries.count) open transactions, which is the limit."
      )
    }
    guard let limited = owner.limited, let count = state.counts[limited],
      count >= options.transactionsPerConnectionMax
    else { return nil }
    let subject = owner.connection == nil ? "user" : "connection"
    return (
      .connectionTransactions, "The \(subject) has \(count) open transactions, which is the limit."
    )
  }

  private func check(_ refusal: Refusal?) throws(RemoteError) {
    guard let refusal else { return }
    options.onRefusal?(refusal.limit)
    throw RemoteError(.resourceExhausted, refusal.message)
  }

  // MARK: Using

  /// Runs `body` with a transaction, which does not expire meanwhile.
  func use<Result>(
    _ bytes: [UInt8], by owner: Owner, _ body: (OpenTransaction) throws(RemoteError) -> Result
  ) throws(RemoteError) -> Result {
    let id = try TransactionID(bytes)
    removeExpired()
    let transaction = try state.withLock { state throws(RemoteError) in
      guard var entry = state.entries[id], entry.owner.user == owner.user else {
        throw OpenTransaction.closed
      }
      entry.useCount += 1
      state.entries[id] = entry
      return entry.transaction
    }
    defer { didUse(id) }
    return try body(transaction)
  }

  private func didUse(_ id: TransactionID) {
    let now = options.clock.now()
    state.withLock { state in
      guard var entry = state.entries[id] else { return }
      entry.useCount -= 1
      entry.lastUse = now
      state.entries[id] = entry
    }
  }

  /// The open transaction with an id, if it is one of this user.
  func open(_ id: TransactionID, of user: String?) -> OpenTransaction? {
    state.withLock { state in
      guard let entry = state.entries[id], entry.owner.user == user else { return nil }
      return entry.transaction
    }
  }

  /// Removes a transaction that is about to end. Returns nil if it is not open.
  func remove(_ bytes: [UInt8], by owner: Owner) throws(RemoteError) -> OpenTransaction? {
    let id = try TransactionID(bytes)
    removeExpired()
    return state.withLock { state in
      guard state.entries[id]?.owner.user == owner.user else { return nil }
      return Self.remove(id, from: &state)
    }
  }

  private static func remove(_ id: TransactionID, from state: inout State) -> OpenTransaction? {
    guard let entry = state.entries.removeValue(forKey: id) else { return nil }
    if let owner = entry.owner.limited {
      let count = (state.counts[owner] ?? 1) - 1
      state.counts[owner] = count > 0 ? count : nil
    }
    return entry.transaction
  }

  // MARK: Expiry

  /// The number of open transactions.
  var count: Int { state.withLock { $0.entries.count } }

  private func removeExpired() {
    let now = options.clock.now()
    let expired: [OpenTransaction] = state.withLock { state in
      guard now >= state.nextExpiry else { return [] }
      let ids = state.entries.filter { $0.value.useCount == 0 && now >= expiry(of: $0.value) }.keys
      let removed = ids.compactMap { Self.remove($0, from: &state) }
      state.nextExpiry = state.entries.values.map(expiry).min() ?? .max
      return removed
    }
    for transaction in expired { transaction.end() }
  }

  private func expiry(of entry: Entry) -> UInt64 { min(entry.lastUse &+ idleMax, entry.begin &+ ageMax) }

  private var idleMax: UInt64 { Self.nanoseconds(options.transactionIdleSecondsMax) }
  private var ageMax: UInt64 { Self.nanoseconds(options.transactionSecondsMax) }

  private func setTimer() {
    options.clock.after(idleMax) { [weak self] in
      guard let self else { return }
      removeExpired()
      let isNeeded = state.withLock { state in
        state.isTimerSet = !state.entries.isEmpty
        return state.isTimerSet
      }
      if isNeeded { setTimer() }
    }
  }

  private static func nanoseconds(_ seconds: Int) -> UInt64 {
    min(UInt64(clamping: seconds), 1 << 32) * 1_000_000_000
  }
}
