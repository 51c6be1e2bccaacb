// A database at work: its store, and the writes under way.
//
// Invariants:
//   - The store is opened on the queue of the writes, by the first of them or by a read that finds none.
//     If that fails, the call gets the error, and the next one tries again.
//   - Writes reach the store in the order of the calls. Each takes its place there without waiting for the one
//     before it: those that are issued together share a sync.
//   - A read waits for the writes that were issued before it, and for no other.
//   - Once closed, it never opens the store again: whoever still has it gets `failedPrecondition`.
//   - What was asked before the end is answered before the end; whoever waits for the remote then hears of the end.
//   - Nothing that a completion is called for runs on the threads of Swift's tasks: who waits for it may hold them all.

import DocumentStore
import FirebaseCore
import Foundation
import OfflineSync

package final class FirestoreClient: Sendable {
  private let place: StoreAddress
  private let durability: StoreDurability
  /// With one, the engine's driver does what the store does without.
  let remote: ClientRemote?
  private let queue = DispatchQueue(label: "dugout.firestore.writes")
  /// Where writes that have their place are waited for, in the same order.
  private let finishing = DispatchQueue(label: "dugout.firestore.writes.finishing")
  /// Where what is finished is told, and listeners are taken up, in the order of the calls. Taking one up runs its query:
  /// so it happens on neither of the queues above.
  private let acknowledging = DispatchQueue(label: "dugout.firestore.acknowledging")
  /// Where reads and listeners have their indexes made, one after the other, and run their queries then.
  private let preparing = DispatchQueue(label: "dugout.firestore.indexes")
  /// Where reads that have a completion are made, in the order of the calls.
  let reading = DispatchQueue(label: "dugout.firestore.reads")
  /// Where announcements wait for those whom a commit is for.
  let announcing = DispatchQueue(label: "dugout.firestore.announcements")
  /// Where that happens what takes its time, as long as it waits for nobody but the store.
  private let working = DispatchQueue(label: "dugout.firestore.work", attributes: .concurrent)
  /// All that takes its time, from the call on.
  private let works = DispatchGroup()
  /// Those who wait for the remote, where it is not the engine that says when they have waited enough.
  let questions = OpenQuestions()
  private let state = Guarded(State())

  private struct State {
    var use: StoreUse?
    var isClosed = false
    /// No listener is told anything any more, nor begins to be.
    var isSilent = false
    var driver: SyncDriver?
    /// Of the acknowledging queue.
    var acknowledgements = 0
    var listeners: [ObjectIdentifier: Listening] = [:]
    /// Those who listen to snapshots being in sync and were told so the first time.
    var onSync: [ObjectIdentifier: SyncCall] = [:]
    /// Of those, whom the announcement that has not begun is for; none without one.
    var announced: Set<ObjectIdentifier> = []
    var issued: UInt64 = 0
    var finished: UInt64 = 0
    /// Reads that wait until the write with this number has finished.
    var waiting: [(write: UInt64, resume: @Sendable () -> Void)] = []
    /// Nil as long as nobody has said.
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

  /// Only on the queue.
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

  /// Only on the queue. The store of a client of a remote is open with its driver, or not at all.
  private func openedDriver(_ remote: ClientRemote) throws(DocumentStoreError) -> SyncDriver {
    let view = try openStore()
    guard let driver = openDriver ?? view.driver else { preconditionFailure("a remote has a driver") }
    return driver
  }

  var openDriver: SyncDriver? { state.withLock { $0.driver } }

  /// Nil without a remote.
  nonisolated(nonsending) func openedDriver() async throws -> SyncDriver? {
    guard remote != nil else { return nil }
    if let driver = openDriver { return driver }
    _ = try await openedStore()
    return openDriver
  }

  /// Opens the store before anybody asks for it. Blocks.
  func open() throws {
    let result = queue.sync { Result { () throws(DocumentStoreError) in try openStore() } }
    _ = try result.mapError(FirestoreErrors.translate).get()
  }

  /// From now on no listener is told anything.
  func silence() {
    // Whatever closures hold goes behind the lock: it may remove listeners of its own.
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

  /// Waits for what is under way, then gives the store back, for good. What takes its time is not waited for any longer
  /// once `mayClose` is signalled: it finds the store closed.
  func close(_ mayClose: DispatchSemaphore) {
    silence()
    questions.endAll()
    // Before the queue of the writes is taken: reads and works may need it, to wait for writes or to open the store.
    reading.sync {}
    preparing.sync {}
    works.notify(queue: queue) { mayClose.signal() }
    mayClose.wait()
    queue.sync {
      // Here, and not before: what was issued earlier may have the store to open.
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
    // A driver that has ended has answered its reads, which are told in their turn.
    reading.sync {}
  }

  // MARK: Writing

  /// Enqueues the writes and returns. `finished` is told their outcome on a queue of ours, in the order of the calls,
  /// also of those that cannot be written.
  func write(
    _ mutations: Result<[Mutation], any Error>,
    finished: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    state.withLock { state in
      state.issued += 1
      let number = state.issued
      // Under the lock, so that the queue's order is the order of the numbers.
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

  /// Only on the queue.
  private func send(
    _ mutations: Result<[Mutation], any Error>, _ number: UInt64, _ remote: ClientRemote,
    _ finished: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    do throws(DocumentStoreError) {
      let driver = try openedDriver(remote)
      // Whoever waits for it looks at the store, where it is once the driver has taken it up.
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

  /// Has `body` run with the driver behind everything that was issued before, and before what is issued later. It must
  /// not wait. Never called without a remote.
  func inOrderOfDriver(_ body: @escaping @Sendable (Result<SyncDriver, any Error>) -> Void) {
    queue.async { [self] in
      guard let remote else { return }
      let driver = Result { () throws(DocumentStoreError) in try openedDriver(remote) }
      body(driver.mapError(FirestoreErrors.translate))
    }
  }

  // MARK: Order

  /// Has `body` run when everybody has been told of the writes that were issued before. Without a remote.
  func afterAcknowledgements(_ body: @escaping @Sendable () -> Void) {
    queue.async { [self] in finishing.async { [self] in acknowledge(body) } }
  }

  /// Only on the finishing queue. What waits there comes first; if nothing does, there is no reason to change
  /// threads.
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
    // Nobody would end it.
    if isLate { listening.stop() }
  }

  /// From now on a round of snapshots concerns `listening`, unless it was removed.
  func join(_ listening: Listening, _ call: SyncCall) {
    state.withLock { state in
      guard state.listeners[ObjectIdentifier(listening)] != nil else { return }
      state.onSync[ObjectIdentifier(listening)] = call
    }
  }

  func forget(_ listening: Listening) {
    let id = ObjectIdentifier(listening)
    let gone = state.withLock { state in
      // Another one may be made at the same address.
      state.announced.remove(id)
      return (state.listeners.removeValue(forKey: id), state.onSync.removeValue(forKey: id))
    }
    // As in `silence`.
    withExtendedLifetime(gone) {}
  }

  /// Where to announce; nil if an announcement that has not begun will do, or nobody listens to any.
  func beginAnnouncement() -> DispatchQueue? {
    state.withLock { state in
      let isNew = state.announced.isEmpty
      state.announced.formUnion(state.onSync.keys)
      return isNew ? state.onSync.values.first?.queue : nil
    }
  }

  /// Whom to tell: those who were there when a snapshot of the round was told.
  func endAnnouncement() -> [SyncCall] {
    state.withLock { state in
      defer { state.announced = [] }
      return state.announced.compactMap { state.onSync[$0] }
    }
  }

  var openView: LocalView? { state.withLock { $0.use?.view } }

  // MARK: Indexes

  /// Whether queries have indexes made: from this call on, or as soon as the store is open, which this sees to.
  func createsIndexes(_ creates: Bool) {
    let isOpen = state.withLock { state in
      state.createsIndexes = creates
      state.applyIndexCreation()
      return state.use != nil
    }
    if !isOpen { queue.async { [self] in _ = try? openStore() } }
  }

  // MARK: Other work

  /// Has `body` run where it may take its time, behind the writes up to `write`: by itself, or in the turn that the
  /// view has for its kind.
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

  /// With a remote, a queue for each: a concurrent one gives threads that wait no company for a long time, and all
  /// that are asked for wait for the same remote.
  private var workPlace: DispatchQueue { remote == nil ? working : Self.waitingPlace() }

  /// A queue for one who may wait for long, and with hundreds of others. Of a priority that no other
  /// serial queue of ours has: their threads are counted by priority, and those who wait leave none to anybody else.
  static func waitingPlace() -> DispatchQueue {
    DispatchQueue(label: "dugout.firestore.waiting", qos: .userInitiated)
  }

  /// Runs what takes its time beside the writes, on a thread that may wait.
  nonisolated(nonsending) func performed<Value: Sendable>(
    _ body: @escaping @Sendable (LocalView) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    try await performed(on: .global(), body)
  }

  /// Runs a read that has an index made first. Those that wait for one take one thread together, and not the caller's,
  /// which may be that of a user interface.
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
      // One that failed at once may be told behind a later one.
      state.finished = max(state.finished, number)
      let split = state.waiting.partition { $0.write <= number }
      defer { state.waiting.removeSubrange(split...) }
      return state.waiting[split...].map(\.resume)
    }
    for resume in ready { resume() }
  }

  // MARK: Reading

  /// The number of the last write that was issued; what a read that begins now has to see.
  package var lastIssuedWrite: UInt64 { state.withLock { $0.issued } }

  /// Reads on the caller's thread if the writes up to `write` have finished, else when they have.
  nonisolated(nonsending) func read<Value>(
    after write: UInt64, _ body: (LocalView) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    await wait(for: write)
    let view: LocalView
    if let use = state.withLock({ $0.use }) { view = use.view } else { view = try await openedStore() }
    do throws(DocumentStoreError) { return try body(view) } catch { throw FirestoreErrors.translate(error) }
  }

  /// Until the writes up to this one have finished, well or not.
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

  /// Has what needs an index made first run with the others of its kind.
  func prepare(_ body: @escaping @Sendable () -> Void) { preparing.async(execute: body) }

  /// Reads while the caller's thread waits for the writes up to `write`.
  func readNow<Value>(
    after write: UInt64, _ body: (LocalView) throws(DocumentStoreError) -> Value
  ) throws -> Value {
    let view = try openedStoreNow(after: write)
    do throws(DocumentStoreError) { return try body(view) } catch { throw FirestoreErrors.translate(error) }
  }

  /// Waits for the writes up to `write`, on the caller's thread.
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
