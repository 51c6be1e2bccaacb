//  The open store of a client, and the order of the calls.
//
//  Invariants:
//  - The store is opened on the write queue, by the first write or by a read before it. If opening fails,
//    that call receives the error, and the next call tries again.
//  - Writes reach the store in the order of the calls. A write does not wait for the previous write, so
//    concurrent writes share an fsync.
//  - A read waits for the writes that were issued before it, and for no other writes.
//  - After closing, the store is never opened again. Later calls fail with `failedPrecondition`.
//  - The client ends only when all requests that were issued before its end are complete.
//
//  Four serial queues keep the order:
//  - `writes` opens the store and begins writes.
//  - `finishing` waits for the writes that the store has accepted, in the same order.
//  - `acknowledgements` registers listeners. If a listener registration is waiting, this queue also calls the
//    completions of the writes issued after that registration.
//  - `answers` runs reads that have a completion.
//
//  Index creations run on the queue `indexes` of the store's LocalView, which all clients of the store share.

import ByteStore
package import DocumentStore
import FirebaseCore
import Foundation
import OfflineSync

/// The location of a store, and the options with which its first user opens it.
struct StoreOpening: Sendable {
  var place: StoreAddress
  var durability: StoreDurability
  var instruments: (any Instruments)?
  var memoryBudget: Int?
  /// The time between the refreshes of a read-only store that has listeners, in seconds.
  var refreshInterval = StoreFollower.secondsDefault
  /// The environment in a simulation; nil outside a simulation.
  var environment: ClientEnvironment?

  var isReadOnly: Bool { if case .readOnly = place { true } else { false } }
}

package final class ClientStore: Sendable {
  /// Runs on the write queue when the store is opened.
  typealias Preparation = @Sendable (StoreUse) throws(DocumentStoreError) -> Void

  let opening: StoreOpening
  private let prepare: Preparation
  private let writes: DispatchQueue
  private let finishing: DispatchQueue
  let acknowledgements: DispatchQueue
  let answers: AnswerQueue
  /// The simulation that runs the queues; nil outside a simulation.
  let simulation: (any Simulation)?
  /// The operations that create an index first and have not completed.
  private let preparations = DispatchGroup()
  /// The operations that were passed to `work` and have not completed.
  private let works = DispatchGroup()
  private let state = Locked(State())

  private struct State {
    var use: StoreUse?
    var isClosed = false
    /// The error of the last attempt to open the store; nil if that attempt succeeded or there was none.
    var openFailure: OpenFailure?
    /// The number of listener registrations on the acknowledgement queue, plus the number of acknowledgements
    /// that wait after them.
    var waitingAcknowledgements = 0
    var issued: UInt64 = 0
    var finished: UInt64 = 0
    /// Reads that wait until all writes up to this number have finished.
    var waiting: [(write: UInt64, resume: @Sendable () -> Void)] = []
    /// Tasks that wait until all writes up to this number have finished.
    var suspended: [(write: UInt64, resume: @Sendable (()) -> Void)] = []
    /// The user's setting for automatic index creation; nil if the user has not set it.
    var createsIndexes: Bool?

    func applyIndexCreation() {
      if let use, let createsIndexes { use.view.store.createsIndexes = createsIndexes }
    }
  }

  /// A failure to open the store.
  struct OpenFailure: Sendable {
    var error: DocumentStoreError
    /// The time of the first of several successive failures.
    var since: Date
  }

  init(_ opening: StoreOpening, prepare: @escaping Preparation) {
    self.opening = opening
    self.prepare = prepare
    let simulation = opening.environment?.simulation
    self.simulation = simulation
    writes = .serial("dugout.firestore.writes", in: simulation)
    finishing = .serial("dugout.firestore.writes.finishing", in: simulation)
    acknowledgements = .serial("dugout.firestore.acknowledgements", in: simulation)
    answers = AnswerQueue(.serial("dugout.firestore.answers", in: simulation))
  }

  /// Creates a store that is already closed. Every call of it fails with `failedPrecondition`.
  convenience init(closedAt place: StoreAddress) {
    self.init(StoreOpening(place: place, durability: .buffered)) { _ in }
    state.withLock { $0.isClosed = true }
  }

  // MARK: Opening

  /// Runs only on the write queue.
  func openedOnWriteQueue() throws(DocumentStoreError) -> LocalView {
    let (open, isClosed) = state.withLock { ($0.use, $0.isClosed) }
    if let open { return open.view }
    guard !isClosed else { throw FirestoreErrors.terminatedStore }
    do throws(DocumentStoreError) {
      let use = try preparedUse()
      state.withLock { state in
        state.use = use
        state.openFailure = nil
        state.applyIndexCreation()
      }
      return use.view
    } catch {
      state.withLock { state in
        state.openFailure = OpenFailure(error: error, since: state.openFailure?.since ?? Date())
      }
      throw error
    }
  }

  private func preparedUse() throws(DocumentStoreError) -> StoreUse {
    let use = try AppStores.shared.use(
      opening.place, opening.durability, instruments: opening.instruments, memoryBudget: opening.memoryBudget,
      environment: opening.environment)
    do throws(DocumentStoreError) {
      try prepare(use)
    } catch {
      try? use.end()
      throw error
    }
    return use
  }

  /// Opens the store before the first use. Blocks.
  func open() throws {
    _ = try openedInTurn()
  }

  /// Opens the store on the write queue, after all operations issued before. Blocks.
  private func openedInTurn() throws -> LocalView {
    var result: Result<LocalView, DocumentStoreError> = .failure(FirestoreErrors.terminatedStore)
    writes.perform { result = Result { () throws(DocumentStoreError) in try openedOnWriteQueue() } }
    return try result.mapError(FirestoreErrors.translate).get()
  }

  /// Throws `failedPrecondition` if the store has been closed.
  func checkIsNotClosed() throws {
    if state.withLock({ $0.isClosed }) { throw FirestoreErrors.terminated }
  }

  /// Throws `failedPrecondition` if the store is open for reading only.
  func checkWritable() throws {
    guard case .readOnly(let path) = opening.place else { return }
    throw FirestoreErrors.readOnly(path)
  }

  /// The error of the last attempt to open the store; nil if that attempt succeeded or there was none.
  var openFailure: OpenFailure? { state.withLock { $0.openFailure } }

  /// The number of writes that were issued and are neither in the store nor refused.
  var unfinishedWriteCount: Int { state.withLock { Int($0.issued - $0.finished) } }

  /// Returns the open view; nil if the store is not open.
  package var openView: LocalView? { state.withLock { $0.use?.view } }

  nonisolated(nonsending) func opened() async throws -> LocalView {
    if let view = openView { return view }
    return try await awaitResult { (done: @escaping Answer<LocalView>) in
      writes.submit { [self] in
        let result = Result { () throws(DocumentStoreError) in try openedOnWriteQueue() }
        done(result.mapError(FirestoreErrors.translate))
      }
    }
  }

  /// Blocks the caller's thread until the writes up to `write` have finished. Without a number, blocks until
  /// the writes that were issued before this call have finished.
  private func openedBlocking(after write: UInt64?) throws -> LocalView {
    let (last, finished, view) = state.withLock { ($0.issued, $0.finished, $0.use?.view) }
    let write = write ?? last
    if finished < write {
      waitUntilFinished(write)
    } else if let view {
      return view
    }
    if let view = openView { return view }
    return try openedInTurn()
  }

  private func waitUntilFinished(_ write: UInt64) {
    guard let simulation else { return waitForValue { done in resume(after: write) { done(()) } } }
    simulation.drain { state.withLock { $0.finished >= write } }
  }

  /// Waits for the operations in progress, then releases the store for good. Once `mayClose` is signalled,
  /// this call no longer waits for long operations. Those that are still running find the store closed.
  func close(_ mayClose: DispatchSemaphore) {
    // These waits must come before the write queue is blocked: reads and long operations may need that queue
    // to wait for writes or to open the store.
    if let simulation {
      simulation.drain { answers.hasNoReads && preparations.isEmpty && works.isEmpty }
    } else {
      answers.waitForReads()
      preparations.wait()
      works.notify(queue: writes) { mayClose.signal() }
      mayClose.wait()
    }
    writes.perform {
      // The flag is set here and not earlier, because calls issued before `close` may still have to open the
      // store.
      state.withLock { $0.isClosed = true }
      finishing.perform {}
      acknowledgements.perform {}
      answers.queue.perform {}
      let use = state.withLock { state in
        defer { state.use = nil }
        return state.use
      }
      try? use?.end()
    }
    // This wait is finite, because a stopped driver has completed all its reads.
    if let simulation { simulation.drain { answers.hasNoReads } } else { answers.waitForReads() }
  }

  // MARK: Writes

  /// Issues a write: assigns the next number to the write and runs `body` with this number on the write
  /// queue.
  func issue(_ body: @escaping @Sendable (UInt64) -> Void) {
    state.withLock { state in
      state.issued += 1
      let number = state.issued
      // The body is enqueued under the lock, so that writes are in the queue in the order of their numbers.
      writes.submit { body(number) }
    }
  }

  /// Finishes a write. First `wait` blocks until the outcome of the write is certain. Then the reads that
  /// wait for the write resume, and `done` receives the outcome. The `done` closures of several writes run in
  /// the order of the calls. Must be called on the write queue.
  func finish(
    _ number: UInt64, waiting wait: @escaping @Sendable () -> Result<Void, any Error>,
    done: @escaping Answer<Void>
  ) {
    finishing.submit { [self] in
      let result = wait()
      markFinished(number)
      acknowledge { done(result) }
    }
  }

  /// Resumes the reads that wait for a write.
  func markFinished(_ number: UInt64) {
    let resumed = state.withLock { state in
      // A write that failed at once may be marked as finished after a write with a higher number.
      state.finished = max(state.finished, number)
      for waiting in state.waiting where waiting.write <= number { waiting.resume() }
      state.waiting.removeAll { $0.write <= number }
      defer { state.suspended.removeAll { $0.write <= number } }
      return state.suspended.filter { $0.write <= number }
    }
    // A task's executor may be code of the app, so tasks are resumed outside the lock.
    for suspended in resumed { suspended.resume(()) }
  }

  /// Runs `body` after the completions of all writes that were issued before this call.
  func afterAcknowledgements(_ body: @escaping @Sendable () -> Void) {
    writes.submit { [self] in finishing.submit { [self] in acknowledge(body) } }
  }

  /// Enqueues `body` after the acknowledgements that are still in the acknowledgement queue. If no
  /// acknowledgement waits, runs `body` at once, which avoids a thread switch. Must be called on the
  /// finishing queue.
  private func acknowledge(_ body: @escaping @Sendable () -> Void) {
    guard state.withLock({ $0.waitingAcknowledgements > 0 }) else { return body() }
    enqueueAcknowledgement(body)
  }

  private func enqueueAcknowledgement(_ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.waitingAcknowledgements += 1 }
    acknowledgements.submit { [self] in
      body()
      state.withLock { $0.waitingAcknowledgements -= 1 }
    }
  }

  /// Runs `body` on the acknowledgement queue: after the writes that were issued before this call have
  /// finished, and before any later write is acknowledged.
  func runInOrder(_ body: @escaping @Sendable (Result<LocalView, DocumentStoreError>) -> Void) {
    writes.submit { [self] in
      let view = Result { () throws(DocumentStoreError) in try openedOnWriteQueue() }
      finishing.submit { [self] in enqueueAcknowledgement { body(view) } }
    }
  }

  /// Runs `body` on the write queue, after all operations issued before this call and before all operations
  /// issued later. `body` must not block.
  func runOnWriteQueue(_ body: @escaping @Sendable (Result<LocalView, DocumentStoreError>) -> Void) {
    writes.submit { [self] in
      body(Result { () throws(DocumentStoreError) in try openedOnWriteQueue() })
    }
  }

  // MARK: Listeners

  /// The maximum number of attempts of `whenInSync`. Under a load that never lets the listeners catch up, the
  /// call then comes in the middle of a round, which is better than never.
  private static let inSyncAttemptsMax = 20

  /// Runs `body` on `queue`, the serial queue of the listeners, at a time when all listeners have received
  /// the same commits. Must be called on the acknowledgement queue.
  func whenInSync(on queue: DispatchQueue, attempt: Int = 1, _ body: @escaping @Sendable () -> Void) {
    guard let documents = openView?.store else { return queue.submit(body) }
    documents.afterLiveResults { offerCount in
      queue.submit { [self] in
        // A snapshot that waits on the queue is replaced by the snapshot of a later commit. If this may have
        // happened, some listeners have received that commit and others have not.
        guard documents.liveOfferCount == offerCount || attempt == Self.inSyncAttemptsMax else {
          return acknowledgements.submit { [self] in whenInSync(on: queue, attempt: attempt + 1, body) }
        }
        body()
      }
    }
  }

  // MARK: Waiting for writes

  /// The number of the last write issued. A read that starts now must see that write.
  var lastIssuedWrite: UInt64 { state.withLock { $0.issued } }

  /// Waits until all writes up to number `write` have finished, successfully or not.
  nonisolated(nonsending) func wait(for write: UInt64) async {
    guard state.withLock({ $0.finished < write }) else { return }
    await awaitValue { (done: @escaping @Sendable (()) -> Void) in
      let isFinished = state.withLock { state in
        if state.finished < write { state.suspended.append((write, done)) }
        return state.finished >= write
      }
      if isFinished { done(()) }
    }
  }

  /// Calls `body` when the writes up to `write` have finished. Such bodies run under the lock, which keeps
  /// them in order. `body` may therefore only schedule work.
  private func resume(after write: UInt64, _ body: @escaping @Sendable () -> Void) {
    state.withLock { state in
      if state.finished < write { state.waiting.append((write, body)) } else { body() }
    }
  }

  /// Runs a read on the answers queue after the writes up to `write`. Reads start in the order of the calls,
  /// but while a read is suspended, later reads can run.
  func answerInOrder(after write: UInt64, _ body: @escaping @Sendable () async -> Void) {
    answers.enterRead()
    writes.submit { [self] in
      // If opening fails, the read itself reports the error.
      _ = try? openedOnWriteQueue()
      resume(after: write) { [answers] in answers.startRead(body) }
    }
  }

  // MARK: Reading

  /// Reads on the caller's thread, after waiting for the writes up to `write`.
  nonisolated(nonsending) func read<Value>(
    after write: UInt64, _ body: (LocalView) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    await wait(for: write)
    let view = try await opened()
    do throws(DocumentStoreError) { return try body(view) } catch { throw FirestoreErrors.translate(error) }
  }

  /// Reads after blocking the caller's thread until the writes up to `write` have finished. Without a number,
  /// the read waits for the writes that were issued before it.
  func readBlocking<Value>(
    after write: UInt64? = nil, _ body: (LocalView) throws(DocumentStoreError) -> Value
  ) throws -> Value {
    let view = try openedBlocking(after: write)
    do throws(DocumentStoreError) { return try body(view) } catch { throw FirestoreErrors.translate(error) }
  }

  /// Aggregates the store's documents, on the caller's thread unless an index has to be created first.
  nonisolated(nonsending) func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, after write: UInt64
  ) async throws -> [StoredValue] {
    let ready = try await read(after: write) { view throws(DocumentStoreError) in
      try view.aggregateIfIndexed(aggregates, over: query)
    }
    if let ready { return ready }
    return try await prepared { view throws(DocumentStoreError) in
      try view.aggregate(aggregates, over: query)
    }
  }

  // MARK: Indexes

  /// Turns automatic index creation on or off. If the store is open, the setting takes effect at once.
  /// Otherwise this call opens the store, and the setting takes effect when the store is open.
  func createsIndexes(_ creates: Bool) {
    let isOpen = state.withLock { state in
      state.createsIndexes = creates
      state.applyIndexCreation()
      return state.use != nil
    }
    if !isOpen { writes.submit { [self] in _ = try? openedOnWriteQueue() } }
  }

  /// Runs `body` once all indexes that `listening` needs exist. If they exist already, `body` runs at once;
  /// otherwise the store's index queue creates them and then runs `body`. Removing the listener cancels the
  /// index creation, and `body` does not run.
  func whenIndexed(
    _ listening: Listening, isReady: Bool, for query: StructuredQuery, in store: DocumentStore,
    _ body: @escaping @Sendable (Result<Void, DocumentStoreError>) -> Void
  ) {
    guard !isReady, let indexes = openView?.indexes else { return body(.success(())) }
    run(on: indexes, in: preparations) {
      let created = Result { () throws(DocumentStoreError) in
        try store.makeIndexes(for: query) { !listening.isRemoved }
      }
      if !listening.isRemoved { body(created) }
    }
  }

  /// Runs `body` on the queue, or in the simulation, and within the group.
  private func run(
    on queue: DispatchQueue, in group: DispatchGroup?, _ body: @escaping @Sendable () -> Void
  ) {
    guard let simulation else { return queue.async(group: group, execute: body) }
    group?.enter()
    simulation.run {
      body()
      group?.leave()
    }
  }

  // MARK: Long operations

  /// Runs `body`, which may take long, after the writes up to `write`. `body` runs on a queue of its own, or
  /// on the serial queue that `turn` returns for this kind of operation.
  func work<Value: Sendable>(
    after write: UInt64, inTurn turn: (@Sendable (LocalView) -> DispatchQueue)? = nil,
    _ body: @escaping @Sendable (LocalView) throws -> Value, done: @escaping Answer<Value>
  ) {
    works.enter()
    resume(after: write) { [self] in
      writes.submit { [self] in
        let view = Result { try openedOnWriteQueue() }
        let perform: @Sendable () -> Void = { [self] in
          done(Result { try body(view.get()) }.mapError(FirestoreErrors.translate(any:)))
          works.leave()
        }
        if let simulation { return simulation.startThread(perform) }
        let place = (try? view.get()).flatMap { turn?($0) } ?? Self.blockingQueue()
        place.async(execute: perform)
      }
    }
  }

  /// Returns a queue for one operation that may block for long while hundreds of similar operations block
  /// too. A concurrent queue would not work here: it adds threads slowly while its threads are blocked, and
  /// all operations may wait for the same remote. The priority of the queue differs from that of our other
  /// serial queues. The system limits the number of threads per priority, so blocked operations could
  /// otherwise use up all threads of those queues.
  static func blockingQueue() -> DispatchQueue {
    DispatchQueue(label: "dugout.firestore.waiting", qos: .userInitiated)
  }

  /// Runs a long operation concurrently with the writes, on a thread that may block.
  nonisolated(nonsending) func performed<Value: Sendable>(
    _ body: @escaping @Sendable (LocalView) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    try await performed(on: { _ in .global() }, in: nil, body)
  }

  /// Runs a read that first creates an index. All of these reads run on the store's index queue. They do not
  /// block the caller's thread, which may be the user interface's thread.
  nonisolated(nonsending) func prepared<Value: Sendable>(
    _ body: @escaping @Sendable (LocalView) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    try await performed(on: { $0.indexes }, in: preparations, body)
  }

  nonisolated(nonsending) private func performed<Value: Sendable>(
    on queue: (LocalView) -> DispatchQueue, in group: DispatchGroup?,
    _ body: @escaping @Sendable (LocalView) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    let view = try await opened()
    return try await awaitResult { (done: @escaping Answer<Value>) in
      run(on: queue(view), in: group) {
        let result = Result { () throws(DocumentStoreError) in try body(view) }
        done(result.mapError(FirestoreErrors.translate))
      }
    }
  }
}

extension DispatchGroup {
  /// Whether no work is in the group now.
  fileprivate var isEmpty: Bool { wait(timeout: .now()) == .success }
}
