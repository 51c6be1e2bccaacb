// The locks of a database, which transactions and commits share.

internal import ByteStore
internal import DocumentStore
internal import OfflineSync

/// Lets commits wait for transactions, without a thread for each. Usable from any thread.
final class DocumentLocks: Sendable {
  private struct State {
    var table: DocumentLockTable
    /// Whether nothing is locked any more.
    var isClosed = false
    var lastNumber: UInt64 = 0
    /// The time at which the next timer runs; nil if there is none.
    var timer: UInt64?
  }

  private let clock: ServiceClock
  private let state: Locked<State>
  private let onRefusal: (@Sendable (ServiceRefusal) -> Void)?
  /// The time after which a wait ends.
  let waitNanoseconds: UInt64

  init(
    _ clock: ServiceClock, limits: DocumentLockTable.Limits = DocumentLockTable.Limits(),
    onRefusal: (@Sendable (ServiceRefusal) -> Void)? = nil
  ) {
    self.clock = clock
    self.onRefusal = onRefusal
    waitNanoseconds = limits.nanoseconds
    state = Locked(State(table: DocumentLockTable(limits)))
  }

  /// A new owner. A further attempt of a transaction has the age of the first one.
  func owner(age: UInt64? = nil) -> LockOwner {
    state.withLock { state in
      state.lastNumber += 1
      return LockOwner(number: state.lastNumber, age: age ?? state.lastNumber)
    }
  }

  var waitingCount: Int { state.withLock { $0.table.waitingCount } }

  // MARK: Waiting

  /// Waits for the transactions that have locked one of the documents, until `end` at the latest. Holds
  /// nothing afterwards. `done` is called within this call, or later on any thread. It fails with
  /// `resourceExhausted` if too many wait, and with `cancelled` if the call ends while it waits.
  func wait(
    for paths: [DocumentPath], of call: CallWaits? = nil, until end: UInt64 = .max,
    _ done: @escaping @Sendable (RemoteError?) -> Void
  ) {
    let isFree = state.withLock { $0.table.isEmpty }
    guard !isFree else { return done(nil) }
    let modes = Dictionary(paths.map { ($0, LockMode.exclusive) }) { first, _ in first }
    request(Wanted(owner: owner(), modes: modes, isKept: false, end: end), of: call, done)
  }

  /// Gets locks for an owner, who holds them until `end`. `done` is called as by `wait`.
  func lock(
    _ modes: [DocumentPath: LockMode], for owner: LockOwner, of call: CallWaits? = nil,
    _ done: @escaping @Sendable (RemoteError?) -> Void
  ) {
    request(Wanted(owner: owner, modes: modes, isKept: true, end: .max), of: call, done)
  }

  private struct Wanted {
    let owner: LockOwner
    let modes: [DocumentPath: LockMode]
    let isKept: Bool
    let end: UInt64
  }

  private static let cancelled = RemoteError(.cancelled, "The call has ended.")

  private func request(
    _ wanted: Wanted, of call: CallWaits?, _ done: @escaping @Sendable (RemoteError?) -> Void
  ) {
    guard !wanted.modes.isEmpty else { return done(nil) }
    let number = owner().number
    guard let call else { return request(wanted, number, done) }
    guard let wait = call.begin({ [weak self] in self?.cancel(number) }) else { return done(Self.cancelled) }
    request(wanted, number) { error in done(call.end(wait) ? error : Self.cancelled) }
    // The call may have ended before the request was in the table.
    if call.isOver { cancel(number) }
  }

  private func request(
    _ wanted: Wanted, _ number: UInt64, _ done: @escaping @Sendable (RemoteError?) -> Void
  ) {
    let now = clock.now()
    let request = DocumentLockTable.Request(
      number: number, owner: wanted.owner, modes: wanted.modes, isKept: wanted.isKept, end: wanted.end
    ) { done(nil) }
    let (answer, granted): (DocumentLockTable.Answer, [DocumentLockTable.Granted]) = state.withLock { state in
      guard !state.isClosed else { return (.granted, []) }
      let answer = state.table.request(request, at: now)
      return (answer, state.table.takeGranted())
    }
    for granted in granted { granted() }
    switch answer {
    case .granted: done(nil)
    case .waiting: setTimer()
    case .tooMany:
      onRefusal?(.lockWaits)
      done(RemoteError(.resourceExhausted, "Too many calls wait for locked documents. Try again later."))
    }
  }

  /// Locks documents that an owner has read, without waiting.
  func hold(_ paths: [DocumentPath], by owner: LockOwner) {
    let modes = Dictionary(paths.map { ($0, LockMode.shared) }) { first, _ in first }
    change { table, now in
      table.hold(modes, by: owner, at: now)
      return table.takeGranted()
    }
  }

  /// Ends all locks of an owner, and its waits.
  func end(_ owner: LockOwner) { change { $0.end(owner, at: $1) } }

  private func cancel(_ number: UInt64) { change { $0.cancel(number, at: $1) } }

  /// Ends all locks and waits. Nothing is locked from then on.
  func endAll() {
    let granted = state.withLock { state in
      state.isClosed = true
      return state.table.endAll()
    }
    for granted in granted { granted() }
  }

  private func change(
    _ change: (inout DocumentLockTable, _ now: UInt64) -> [DocumentLockTable.Granted]
  ) {
    let now = clock.now()
    let granted: [DocumentLockTable.Granted] = state.withLock { state in
      state.isClosed ? [] : change(&state.table, now)
    }
    for granted in granted { granted() }
  }

  // MARK: Time

  /// Sets a timer for the next lock or wait that ends, unless there is an earlier one.
  private func setTimer() {
    let now = clock.now()
    let delay: UInt64? = state.withLock { state in
      guard let end = state.table.nextEnd(), state.timer.map({ end < $0 }) ?? true else { return nil }
      state.timer = end
      return end > now ? end - now : 0
    }
    guard let delay else { return }
    clock.after(delay) { [weak self] in self?.endOverdue() }
  }

  private func endOverdue() {
    let now = clock.now()
    let granted = state.withLock { state in
      if let timer = state.timer, timer <= now { state.timer = nil }
      return state.table.endOverdue(at: now)
    }
    for granted in granted { granted() }
    setTimer()
  }
}
