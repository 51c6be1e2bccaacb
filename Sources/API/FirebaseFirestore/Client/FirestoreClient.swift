// An open database: its store and the writes in progress.
//
// Invariants:
//   - The store is opened on the write queue, by the first write or by a read before it. If opening fails,
//     the call receives the error, and the next call tries again.
//   - Writes reach the store in the order of the calls. A write does not wait for the one before it, so
//     concurrent writes share a sync.
//   - A read waits for the writes that were issued before it, and for no others.
//   - After closing, the store is never opened again. Later calls fail with `failedPrecondition`.
//   - Requests issued before the end complete before the end. Those that wait for the remote fail.
//   - No operation with a completion runs on the threads of Swift's tasks, because callers waiting for the
//     completion may block all of them.

import ByteStore
import DocumentStore
import FirebaseCore
import Foundation
import OfflineSync

package final class FirestoreClient: Sendable {
  private let place: StoreAddress
  private let durability: StoreDurability
  /// With a remote, the sync driver does the work that the store does without one.
  let remote: ClientRemote?
  private let queue = DispatchQueue(label: "dugout.firestore.writes")
  /// Waits for writes that the store has accepted, in the same order.
  private let finishing = DispatchQueue(label: "dugout.firestore.writes.finishing")
  /// Calls completions and registers listeners, in the order of the calls. Registering a listener runs its
  /// query, which would block the queues above.
  private let acknowledging = DispatchQueue(label: "dugout.firestore.acknowledging")
  /// Creates the indexes of reads and listeners, one after the other, and then runs their queries.
  private let preparing = DispatchQueue(label: "dugout.firestore.indexes")
  /// Runs reads that have a completion, in the order of the calls.
  let reading = DispatchQueue(label: "dugout.firestore.reads")
  /// Waits until the snapshots of a commit are on the listeners' queues, then announces that they are in
  /// sync.
  let announcing = DispatchQueue(label: "dugout.firestore.announcements")
  /// Runs long operations that wait only for the store.
  private let working = DispatchQueue(label: "dugout.firestore.work", attributes: .concurrent)
  /// All long operations, from the call on.
  private let works = DispatchGroup()
  /// Requests that wait for the remote and whose time limit is not the engine's.
  let questions = OpenQuestions()
  private let state = Locked(State())

  private struct State {
    var use: StoreUse?
    var isClosed = false
    /// Set when listeners are no longer notified and no new one may be registered.
    var isSilent = false
    var driver: SyncDriver?
    /// The number of bodies on the acknowledging queue.
    var acknowledgements = 0
    var listeners: [ObjectIdentifier: Listening] = [:]
    /// The in-sync listeners that have received their first call.
    var onSync: [ObjectIdentifier: SyncCall] = [:]
    /// The in-sync listeners that the scheduled announcement will notify; empty if none is scheduled.
    var announced: Set<ObjectIdentifier> = []
    var issued: UInt64 = 0
    var finished: UInt64 = 0
    /// Reads that wait until the write with this number has finished.
    var waiting: [(write: UInt64, resume: @Sendable () -> Void)] = []
    /// The choice of the user; nil if there is none.
    var createsIndexes: Bool?

    func applyIndexCreation() {
      if let use, let createsIndexes { use.view.store.createsIndexes = createsIndexes }
    }
  }

  init(place: StoreAddress, durability: StoreDurability, remote: ClientRemote? = nil) {
    self.place = place
    self.durability = durability
    self.remote = remote
  }

  // MARK: The store

  /// Runs only on the write queue.
  private func openStore() throws(DocumentStoreError) -> LocalView {
    let (open, isClosed) = state.withLock { ($0.use, $0.isClosed) }
    if let open { return open.view }
    guard !isClosed else { throw FirestoreErrors.terminatedStore }
    let use = try AppStores.shared.use(place, durability)
    do throws(DocumentStoreError) {
      guard let remote else {
        try use.view.checkIsNotCache()
        state.withLock { state in
          state.use = use
          state.applyIndexCreation()
        }
        return use.view
      }
      let driver = try use.view.attach(
        remote.remote, as: nil, remote.attachment, remote.collector, remote.options)
      state.withLock { state in
        state.use = use
        state.driver = driver
        state.applyIndexCreation()
      }
      return use.view
    } catch {
      try? use.end()
      throw error
    }
  }

  /// Runs only on the write queue. With a remote, the store and its driver are either both open or both
  /// closed.
  private func openedDriver(_ remote: ClientRemote) throws(DocumentStoreError) -> SyncDriver {
    let view = try openStore()
    guard let driver = openDriver ?? view.driver else { preconditionFailure("a remote has a driver") }
    return driver
  }

  var openDriver: SyncDriver? { state.withLock { $0.driver } }

  /// Returns nil without a remote.
  nonisolated(nonsending) func openedDriver() async throws -> SyncDriver? {
    guard remote != nil else { return nil }
    if let driver = openDriver { return driver }
    _ = try await openedStore()
    return openDriver
  }

  /// Opens the store before the first use. Blocks.
  func open() throws {
    let result = queue.sync { Result { () throws(DocumentStoreError) in try openStore() } }
    _ = try result.mapError(FirestoreErrors.translate).get()
  }

  /// Stops notifying all listeners.
  func silence() {
    // Released outside the lock: a closure may hold the last reference to another listener, whose removal
    // takes the lock.
    let gone = state.withLock { state in
      defer {
        state.isSilent = true
        state.listeners = [:]
        state.onSync = [:]
      }
      return (listeners: state.listeners, onSync: state.onSync)
    }
    for listener in gone.listeners.values { listener.stop() }
    withExtendedLifetime(gone) {}
  }

  /// Waits for the operations in progress, then releases the store for good. Once `mayClose` is signalled,
  /// this no longer waits for long operations: they then find the store closed.
  func close(_ mayClose: DispatchSemaphore) {
    silence()
    questions.endAll()
    // Before blocking the write queue: reads and long operations may need it to wait for writes or to open
    // the store.
    reading.sync {}
    preparing.sync {}
    works.notify(queue: queue) { mayClose.signal() }
    mayClose.wait()
    queue.sync {
      // Set here and not earlier, because calls issued before may still have to open the store.
      state.withLock { $0.isClosed = true }
      finishing.sync {}
      acknowledging.sync {}
      let use = state.withLock { state in
        defer {
          state.use = nil
          state.driver = nil
        }
        return state.use
      }
      try? use?.end()
    }
    // A driver that has ended has completed its reads; their completions run on this queue.
    reading.sync {}
  }

  // MARK: Writing

  /// Enqueues the writes and returns. Calls `finished` on an internal queue with the outcome, in the order
  /// of the calls. This includes writes that are invalid.
  func write(
    _ mutations: Result<[Mutation], any Error>,
    finished: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    state.withLock { state in
      state.issued += 1
      let number = state.issued
      // Enqueued under the lock, so that the queue's order is the order of the numbers.
      queue.async { [self] in
        if let remote { return send(mutations, number, remote, finished) }
        let begun = Result {
          let mutations = try mutations.get()
          let view = try openStore()
          return (view, try view.begin(mutations))
        }
        finishing.async { [self] in
          let result = Result {
            let (view, write) = try begun.get()
            _ = try view.finish(write)
          }
          markFinished(number)
          acknowledge { finished(result.mapError(FirestoreErrors.translate(any:))) }
        }
      }
    }
  }

  /// Runs only on the write queue.
  private func send(
    _ mutations: Result<[Mutation], any Error>, _ number: UInt64, _ remote: ClientRemote,
    _ finished: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    do throws(DocumentStoreError) {
      let driver = try openedDriver(remote)
      // Reads that wait for this write look at the store. The write is in the store as soon as the driver
      // has taken it.
      write(
        mutations, through: driver, remote.acknowledgement, taken: { [self] in markFinished(number) },
        finished)
    } catch {
      finishing.async { [self] in
        markFinished(number)
        finished(.failure(FirestoreErrors.translate(error)))
      }
    }
  }

  /// Runs `body` with the driver, after everything issued before and before everything issued later. `body`
  /// must not block. Never called without a remote.
  func inOrderOfDriver(_ body: @escaping @Sendable (Result<SyncDriver, any Error>) -> Void) {
    queue.async { [self] in
      guard let remote else { return }
      let driver = Result { () throws(DocumentStoreError) in try openedDriver(remote) }
      body(driver.mapError(FirestoreErrors.translate))
    }
  }

  // MARK: Order

  /// Runs `body` after the completions of all writes issued before. Used without a remote.
  func afterAcknowledgements(_ body: @escaping @Sendable () -> Void) {
    queue.async { [self] in finishing.async { [self] in acknowledge(body) } }
  }

  /// Runs only on the finishing queue. Enqueues `body` after the waiting acknowledgements. If none waits,
  /// runs `body` at once and saves a change of threads.
  private func acknowledge(_ body: @escaping @Sendable () -> Void) {
    guard state.withLock({ $0.acknowledgements > 0 }) else { return body() }
    enqueueAcknowledgement(body)
  }

  private func enqueueAcknowledgement(_ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.acknowledgements += 1 }
    acknowledging.async { [self] in
      body()
      state.withLock { $0.acknowledgements -= 1 }
    }
  }

  /// Runs `body` after the writes that were issued before, and before later ones are acknowledged.
  func inOrder(_ body: @escaping @Sendable (Result<LocalView, DocumentStoreError>) -> Void) {
    queue.async { [self] in
      let view = Result { () throws(DocumentStoreError) in try openStore() }
      finishing.async { [self] in enqueueAcknowledgement { body(view) } }
    }
  }

  // MARK: Listeners

  func remember(_ listening: Listening) {
    let isLate = state.withLock { state in
      if !state.isSilent { state.listeners[ObjectIdentifier(listening)] = listening }
      return state.isSilent
    }
    // Stopped here, because `silence` has already run and would miss it.
    if isLate { listening.stop() }
  }

  /// Includes `listening` in later in-sync announcements, unless it was removed.
  func join(_ listening: Listening, _ call: SyncCall) {
    state.withLock { state in
      guard state.listeners[ObjectIdentifier(listening)] != nil else { return }
      state.onSync[ObjectIdentifier(listening)] = call
    }
  }

  func forget(_ listening: Listening) {
    let id = ObjectIdentifier(listening)
    let gone = state.withLock { state in
      // Another listener may be allocated at the same address.
      state.announced.remove(id)
      return (state.listeners.removeValue(forKey: id), state.onSync.removeValue(forKey: id))
    }
    // Released outside the lock, as in `silence`.
    withExtendedLifetime(gone) {}
  }

  /// Returns the queue for a new announcement. Returns nil if a scheduled announcement covers this one, or
  /// without in-sync listeners.
  func beginAnnouncement() -> DispatchQueue? {
    state.withLock { state in
      let isNew = state.announced.isEmpty
      state.announced.formUnion(state.onSync.keys)
      return isNew ? state.onSync.values.first?.queue : nil
    }
  }

  /// Returns the listeners to notify: those that were registered when a snapshot of the round was
  /// delivered.
  func endAnnouncement() -> [SyncCall] {
    state.withLock { state in
      defer { state.announced = [] }
      return state.announced.compactMap { state.onSync[$0] }
    }
  }

  var openView: LocalView? { state.withLock { $0.use?.view } }

  // MARK: Indexes

  /// Turns automatic index creation on or off. It takes effect at once, or when the store is open, which
  /// this call opens if necessary.
  func createsIndexes(_ creates: Bool) {
    let isOpen = state.withLock { state in
      state.createsIndexes = creates
      state.applyIndexCreation()
      return state.use != nil
    }
    if !isOpen { queue.async { [self] in _ = try? openStore() } }
  }

  // MARK: Other work

  /// Runs `body`, which may take long, after the writes up to `write`. It runs concurrently with others, or
  /// on the view's serial queue for its kind.
  func work<Value: Sendable>(
    after write: UInt64, inTurn turn: (@Sendable (LocalView) -> DispatchQueue)? = nil,
    _ body: @escaping @Sendable (LocalView) throws -> Value,
    _ done: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    works.enter()
    resume(after: write) { [self] in
      queue.async { [self] in
        let view = Result { try openStore() }
        let place = (try? view.get()).flatMap { turn?($0) } ?? workPlace
        place.async { [self] in
          done(Result { try body(view.get()) }.mapError(FirestoreErrors.translate(any:)))
          works.leave()
        }
      }
    }
  }

  /// With a remote, each operation gets its own queue. A concurrent queue adds threads slowly while its
  /// threads are blocked, and all operations may wait for one remote.
  private var workPlace: DispatchQueue { remote == nil ? working : Self.waitingPlace() }

  /// A queue for an operation that may block for long, along with hundreds of others. Its priority differs
  /// from those of our other serial queues: thread limits apply per priority, so blocked operations would
  /// use up all threads.
  static func waitingPlace() -> DispatchQueue {
    DispatchQueue(label: "dugout.firestore.waiting", qos: .userInitiated)
  }

  /// Runs a long operation concurrently with the writes, on a thread that may block.
  nonisolated(nonsending) func performed<Value: Sendable>(
    _ body: @escaping @Sendable (LocalView) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    try await performed(on: .global(), body)
  }

  /// Runs a read that first creates an index. All of these reads share one thread. They do not block the
  /// caller's thread, which may be that of a user interface.
  nonisolated(nonsending) func prepared<Value: Sendable>(
    _ body: @escaping @Sendable (LocalView) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    try await performed(on: preparing, body)
  }

  nonisolated(nonsending) private func performed<Value: Sendable>(
    on queue: DispatchQueue, _ body: @escaping @Sendable (LocalView) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    let view = try await openedStore()
    return try await withCheckedThrowingContinuation { continuation in
      queue.async {
        let result = Result { () throws(DocumentStoreError) in try body(view) }
        continuation.resume(with: result.mapError(FirestoreErrors.translate))
      }
    }
  }

  private func markFinished(_ number: UInt64) {
    let ready = state.withLock { state in
      // A write that failed at once may be reported after a later one.
      state.finished = max(state.finished, number)
      let split = state.waiting.partition { $0.write <= number }
      defer { state.waiting.removeSubrange(split...) }
      return state.waiting[split...].map(\.resume)
    }
    for resume in ready { resume() }
  }

  // MARK: Reading

  /// The number of the last write issued. A read that starts now must see that write.
  package var lastIssuedWrite: UInt64 { state.withLock { $0.issued } }

  /// Reads on the caller's thread, after waiting for the writes up to `write`.
  nonisolated(nonsending) func read<Value>(
    after write: UInt64, _ body: (LocalView) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    await wait(for: write)
    let view: LocalView
    if let use = state.withLock({ $0.use }) { view = use.view } else { view = try await openedStore() }
    do throws(DocumentStoreError) { return try body(view) } catch { throw FirestoreErrors.translate(error) }
  }

  /// Waits until the writes up to this one have finished, successfully or not.
  nonisolated(nonsending) func wait(for write: UInt64) async {
    guard state.withLock({ $0.finished < write }) else { return }
    await withCheckedContinuation { continuation in resume(after: write) { continuation.resume() } }
  }

  func resume(after write: UInt64, _ body: @escaping @Sendable () -> Void) {
    let isDone = state.withLock { state in
      if state.finished < write { state.waiting.append((write, body)) }
      return state.finished >= write
    }
    if isDone { body() }
  }

  /// Runs an operation that first creates an index, after the others of this kind.
  func prepare(_ body: @escaping @Sendable () -> Void) { preparing.async(execute: body) }

  /// Reads after blocking the caller's thread until the writes up to `write` have finished.
  func readNow<Value>(
    after write: UInt64, _ body: (LocalView) throws(DocumentStoreError) -> Value
  ) throws -> Value {
    let view = try openedStoreNow(after: write)
    do throws(DocumentStoreError) { return try body(view) } catch { throw FirestoreErrors.translate(error) }
  }

  /// Blocks the caller's thread until the writes up to `write` have finished.
  func openedStoreNow(after write: UInt64) throws -> LocalView {
    if state.withLock({ $0.finished < write }) {
      let finished = DispatchSemaphore(value: 0)
      resume(after: write) { finished.signal() }
      finished.wait()
    }
    if let use = state.withLock({ $0.use }) { return use.view }
    return try queue.sync { Result { () throws(DocumentStoreError) in try openStore() } }
      .mapError(FirestoreErrors.translate).get()
  }

  nonisolated(nonsending) private func openedStore() async throws -> LocalView {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { [self] in
        let result = Result { () throws(DocumentStoreError) in try openStore() }
        continuation.resume(with: result.mapError(FirestoreErrors.translate))
      }
    }
  }
}
