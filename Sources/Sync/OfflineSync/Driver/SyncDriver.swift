// Runs the sync engine: performs its effects and feeds it the events of users, streams and timers.
//
// All work runs on one serial scheduler. Handlers are called on that scheduler and must not block. A handler
// that calls user code has to do so on a different queue.

internal import ByteStore
package import DocumentStore
internal import Synchronization

extension SyncEngine: StateMachine {}

/// A running client of a remote. Usable from any thread.
package final class SyncDriver: @unchecked Sendable {
  // The conformance is unchecked, because all mutable state is only accessed on the scheduler, which is
  // serial.
  package typealias Handler = @Sendable (Result<ViewSnapshot, OfflineSyncError>) -> Void
  package typealias Completion = @Sendable (OfflineSyncError?) -> Void

  /// The point at which a write completes.
  package enum Acknowledgement: Sendable {
    /// The write completes when it is in the queue. Only an answer or a cancellation removes it from the
    /// queue.
    case local
    /// The write completes when the remote has accepted it.
    case server
  }

  package let store: DocumentStore
  let remote: any Remote
  let driver: MachineDriver<SyncEngine, SyncTimer>
  var scheduler: any SyncScheduler { driver.scheduler }
  let engine: SyncEngine
  var streams = OpenStreams()
  var listeners: [ListenerID: Handler] = [:]
  /// The listeners that are not reads of a single result.
  var lasting: Set<ListenerID> = []
  /// Listeners that wait for a single result.
  var reads = WaitingReads()
  /// Reads that have received a snapshot which does not satisfy them yet.
  var unsatisfied: Set<ListenerID> = []
  private var syncListeners: [ListenerID: @Sendable () -> Void] = [:]
  var queueListeners: [ListenerID: QueueHandler] = [:]
  /// The progress that queue listeners were last notified of.
  var lastNotifiedProgress: QueueProgress?
  var progressListeners = ProgressListeners()
  var rejectionListeners: [ListenerID: RejectionListener] = [:]
  var writes: [CallID: Completion] = [:]
  var waits: [CallID: Completion] = [:]
  private var lastNumber = 0
  /// The open group, to which the next writes are added. The lock is held while a call gets its place in the
  /// order.
  let openGroup = Locked<WriteGroup?>(nil)
  /// The error that stopped the client; nil while it works.
  private(set) var failure: OfflineSyncError?
  let numbers = ListenerNumbers()
  let networkMonitor: (any NetworkMonitor)?
  var stopMonitoring: (@Sendable () -> Void)?
  var stopObservingCredentials: (@Sendable () -> Void)?
  let counts = SyncCounts()
  var recorder: Recorder { store.recorder }

  package init(
    _ local: LocalStore, _ remote: any Remote, options: SyncEngine.Options, scheduler: any SyncScheduler
  ) {
    store = local.store
    self.remote = remote
    var options = options
    options.documentsName = remote.documentsName
    engine = SyncEngine(local, options)
    driver = MachineDriver(engine, scheduler)
    networkMonitor = options.networkMonitor ?? remote.networkMonitor
    scheduler.run { [self] in
      // A client may be stopped before it has begun.
      guard failure == nil else { return }
      startMonitoring()
      observeCredentials()
      attempt { () throws(DocumentStoreError) in try driver.perform(try engine.start(), perform) }
    }
  }

  /// A remote keeps a stream open until the client closes it.
  deinit {
    stopMonitoring?()
    stopObservingCredentials?()
    closeWatch()
    closeWrite()
  }

  // MARK: Users

  /// Runs the body after all earlier calls, and closes the open group so that later writes do not run before
  /// the body.
  func enqueue(_ body: @escaping @Sendable () -> Void) {
    openGroup.withLock { open in
      open = nil
      scheduler.run(body)
    }
  }

  /// Registers a listener. A query that exceeds the limits fails alone, without effect on other calls.
  package func listen(
    to query: StructuredQuery, _ rules: ListenRules, handler: @escaping Handler
  ) -> ListenerID {
    let id = numbers.next()
    enqueue { [self] in
      if let error = failure ?? Self.problem(about: query) { return handler(.failure(error)) }
      listeners[id] = handler
      lasting.insert(id)
      handle(.listen(id, query, rules))
      recordListeners(.listenerAdded, [.init("collection", .text(query.scope.collectionID))])
    }
    return id
  }

  private static let queryBytesMax = 1 << 20

  static func problem(about query: StructuredQuery) -> OfflineSyncError? {
    do throws(DocumentStoreError) { try query.check() } catch { return .store(error) }
    // The size is limited, because the text of the query is stored with its target.
    let bytes = query.targetID.utf8.count
    guard bytes > queryBytesMax else { return nil }
    return .store(.invalidArgument("The query has \(bytes) bytes, and the limit is \(queryBytesMax)."))
  }

  package func unlisten(_ id: ListenerID) {
    enqueue { [self] in
      guard listeners.removeValue(forKey: id) != nil else { return }
      handle(.unlisten(id))
      if lasting.remove(id) != nil { recordListeners(.listenerRemoved) }
    }
  }

  package func listenToSync(_ handler: @escaping @Sendable () -> Void) -> ListenerID {
    let id = numbers.next()
    enqueue { [self] in
      syncListeners[id] = handler
      handle(.listenToSync(id))
    }
    return id
  }

  package func unlistenToSync(_ id: ListenerID) {
    enqueue { [self] in
      if syncListeners.removeValue(forKey: id) != nil { handle(.unlistenToSync(id)) }
    }
  }

  /// Sends an event that needs no result. `done` is called after the engine has processed the event. Its
  /// argument is nil, or the error that has stopped the client, or the error of an event that had no effect
  /// because the disk is full.
  package func send(_ event: SyncEvent, _ done: @escaping Completion = { _ in }) {
    enqueue { [self] in
      done(handleCall(event))
    }
  }

  /// Calls the body with the engine and blocks until it has returned.
  package func inspectNow<Value: Sendable>(
    _ body: @escaping @Sendable (SyncEngine) throws(DocumentStoreError) -> Value
  ) throws(DocumentStoreError) -> Value {
    if scheduler.isCurrent { return try body(engine) }
    let result: Result<Value, DocumentStoreError> = waitForValue { done in
      inspect { engine in done(Result { () throws(DocumentStoreError) in try body(engine) }) }
    }
    return try result.get()
  }

  /// Calls the body with the engine while no other call can change the engine.
  package func inspect(_ body: @escaping @Sendable (SyncEngine) -> Void) {
    enqueue { [self] in body(engine) }
  }

  /// Begins an operation on the driver, and blocks the calling thread until the operation calls `done`.
  func wait<Value: Sendable>(
    _ begin: (_ done: @escaping @Sendable (Value) -> Void) -> Void
  ) -> Value {
    guard let simulation = scheduler.simulation else { return waitForValue(begin) }
    return simulation.wait(begin)
  }

  /// Closes the streams and returns. Pending reads and completions fail; writes stay in the queue.
  /// Listeners are not notified.
  package func stop() {
    // A listener that is released on the scheduler may hold the last reference to the database, which then
    // calls `stop` from there.
    if scheduler.isCurrent { return end() }
    waitForValue { done in
      enqueue { [self] in
        end()
        done(())
      }
    }
  }

  private func end() {
    // Writes the delayed resume tokens. Otherwise the next run would resume from older tokens and receive
    // more data.
    if failure == nil { try? engine.local.flush() }
    let end = failure ?? .remote(RemoteError(.cancelled, "The client has been terminated."))
    failure = end
    for id in reads.all { listeners[id]?(.failure(end)) }
    for completion in completionsInOrder { completion(end) }
    releaseAll()
  }

  /// Stops the client with an error, which all its calls receive. Called on the scheduler.
  package func fail(with error: OfflineSyncError) { if failure == nil { fail(error) } }

  /// Simulates a crash: all work stops, and the store stays as it is.
  package func abandon() {
    failure = .remote(RemoteError(.cancelled, "The client is gone."))
    releaseAll()
  }

  /// The completions of unfinished writes and waits, in the order of the calls.
  private var completionsInOrder: [Completion] {
    (Array(writes) + Array(waits)).sorted { $0.key.value < $1.key.value }.map(\.value)
  }

  func number() -> Int {
    lastNumber += 1
    return lastNumber
  }

  // MARK: Effects

  func handle(_ event: SyncEvent) {
    guard failure == nil else { return }
    attempt { () throws(DocumentStoreError) in try process(event) }
  }

  /// Handles an event of the user. Returns the error that has stopped the client, or the error of an event
  /// that had no effect because the disk is full.
  func handleCall(_ event: SyncEvent) -> OfflineSyncError? {
    if let failure { return failure }
    var refusal: DocumentStoreError?
    attempt { () throws(DocumentStoreError) in
      do throws(DocumentStoreError) { try process(event) } catch {
        guard case .full = error, event.mayFailAlone else { throw error }
        refusal = error
        // The engine repairs what the event may have left, and updates the views.
        try process(.timer(.readSilence))
      }
    }
    return failure ?? refusal.map { .store($0) }
  }

  private func process(_ event: SyncEvent) throws(DocumentStoreError) {
    guard failure == nil else { return }
    try driver.handle(event, perform)
    if case .changeUser = event { notifyOfKeptRejections() }
    guard !unsatisfied.isEmpty else { return }
    for id in unsatisfied.sorted() {
      if let last = engine.events.last(of: id) { listeners[id]?(.success(last)) }
    }
  }

  func attempt(_ body: () throws(DocumentStoreError) -> Void) {
    do throws(DocumentStoreError) { try body() } catch { return fail(.store(error)) }
    recordPendingWrites()
    notifyQueueListeners()
    notifyProgressListeners()
  }

  /// Performs an effect. No effect has an immediate answer, because the remote answers through its streams.
  func perform(_ effect: SyncEffect) -> SyncEvent? {
    switch effect {
    case .renewConnections: remote.networkDidChange()
    case .openWatch(let user): openWatch(user)
    case .watch(let target): streams.watch?.stream.watch(target)
    case .unwatch(let id): streams.watch?.stream.unwatch(id)
    case .closeWatch: closeWatch()
    case .openWrite(let user): openWrite(user)
    case .handshake(let token, let runs): streams.write?.stream.handshake(token, runs: runs)
    case .send(let write): streams.write?.stream.write(write)
    case .closeWrite: closeWrite()
    case .lookUp(let batch, let paths, let user):
      remote.documents(at: paths, as: user) { [weak self] result in
        self?.scheduler.run { [weak self] in self?.handle(.lookedUp(batch, result)) }
      }
    case .startTimer(let timer, let microseconds):
      driver.start(timer, after: microseconds) { [weak self] in self?.handle(.timer(timer)) }
    case .stopTimer(let timer): driver.stop(timer)
    case .notify(let id, let snapshot): listeners[id]?(.success(snapshot))
    case .failListener(let id, let error):
      lasting.remove(id)
      counts.listeners.store(lasting.count, ordering: .relaxed)
      listeners.removeValue(forKey: id)?(.failure(.remote(error)))
    case .refuse(let id, let refusal): listeners[id]?(.failure(.refused(refusal)))
    case .notifySync(let id): syncListeners[id]?()
    case .finishWrite(let call, let error):
      recordPendingWrites()
      writes.removeValue(forKey: call)?(error.map { .remote($0) })
    case .finishWait(let call, let error):
      recordPendingWrites()
      waits.removeValue(forKey: call)?(error.map { .remote($0) })
    case .paused(let error):
      counts.isPaused.store(true, ordering: .relaxed)
      recorder.emit(.syncPaused, .error, fields: [.init("error", .text(error.description))])
    case .resumed:
      counts.isPaused.store(false, ordering: .relaxed)
      recorder.emit(.syncResumed, .info)
    case .rejected(let rejection, let dropped): notify(rejection, dropped: dropped)
    }
    return nil
  }

  // MARK: The end

  /// Stops for good after a store failure, because memory may be ahead of the store. All handlers receive
  /// the error. The next open starts from the state of the store.
  func fail(_ error: OfflineSyncError) {
    failure = error
    for (_, listener) in listeners.sorted(by: { $0.key < $1.key }) { listener(.failure(error)) }
    for (_, listener) in queueListeners.sorted(by: { $0.key < $1.key }) { listener(.failure(error)) }
    for listener in progressListeners.inOrder { listener(.failure(error)) }
    for (_, listener) in rejectionListeners.sorted(by: { $0.key < $1.key }) {
      listener.handler(.failure(error))
    }
    for completion in completionsInOrder { completion(error) }
    releaseAll()
  }

  private func releaseAll() {
    stopMonitoring?()
    stopMonitoring = nil
    stopObservingCredentials?()
    stopObservingCredentials = nil
    closeWatch()
    closeWrite()
    driver.stopTimers()
    reads = WaitingReads()
    unsatisfied = []
    lasting = []
    counts.listeners.store(0, ordering: .relaxed)
    // Releasing a handler may close the database, which calls back into this object.
    let gone = (listeners, syncListeners, queueListeners, rejectionListeners, writes, waits)
    listeners = [:]
    syncListeners = [:]
    queueListeners = [:]
    rejectionListeners = [:]
    writes = [:]
    waits = [:]
    let progressHandlers = progressListeners.handlers
    progressListeners = ProgressListeners()
    withExtendedLifetime((gone, progressHandlers)) {}
  }
}

/// A source of unique listener ids, usable from any thread.
final class ListenerNumbers: Sendable {
  private let last = Locked(0)

  func next() -> ListenerID {
    last.withLock { last in
      last += 1
      return ListenerID(last)
    }
  }
}
