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
  package typealias QueueHandler = @Sendable (Result<QueueProgress, OfflineSyncError>) -> Void
  package typealias RejectionHandler = @Sendable (Result<Rejection, OfflineSyncError>) -> Void

  /// The point at which a write completes.
  package enum Acknowledgement: Sendable {
    /// The write completes when it is in the queue. Only an answer or a cancellation removes it from the
    /// queue.
    case local
    /// The write completes when the remote has accepted it.
    case server
  }

  package let store: DocumentStore
  private let remote: any Remote
  let driver: MachineDriver<SyncEngine, SyncTimer>
  var scheduler: any SyncScheduler { driver.scheduler }
  let engine: SyncEngine
  private var watchStream: WatchConnection?
  /// Whether the watch stream has brought a message. A remote may open it before there is a connection.
  private var isWatchConnected = false
  private var writeStream: (number: Int, stream: any WriteStream)?
  private var listeners: [ListenerID: Handler] = [:]
  /// The listeners that are not reads of a single result.
  private var lasting: Set<ListenerID> = []
  /// Listeners that wait for a single result.
  private var reads = WaitingReads()
  /// Reads that have received a snapshot which does not satisfy them yet.
  private var unsatisfied: Set<ListenerID> = []
  private var syncListeners: [ListenerID: @Sendable () -> Void] = [:]
  private var queueListeners: [ListenerID: QueueHandler] = [:]
  /// The progress that queue listeners were last notified of.
  private var lastNotifiedProgress: QueueProgress?
  var progressListeners = ProgressListeners()
  private var rejectionListeners: [ListenerID: RejectionListener] = [:]
  private var writes: [CallID: Completion] = [:]
  private var waits: [CallID: Completion] = [:]
  private var lastNumber = 0
  /// The open group, to which the next writes are added. The lock is held while a call gets its place in the
  /// order.
  private let openGroup = Locked<WriteGroup?>(nil)
  /// The error that stopped the client; nil while it works.
  private(set) var failure: OfflineSyncError?
  let numbers = ListenerNumbers()
  private let networkMonitor: (any NetworkMonitor)?
  private var stopMonitoring: (@Sendable () -> Void)?
  private var stopObservingCredentials: (@Sendable () -> Void)?
  private let counts = SyncCounts()
  private var recorder: Recorder { store.recorder }

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
    watchStream?.stream.close()
    writeStream?.stream.close()
  }

  // MARK: Users

  package func write(
    _ mutations: [Mutation], _ acknowledgement: Acknowledgement = .server,
    taken: @escaping @Sendable () -> Void = {}, completion: @escaping Completion
  ) {
    write(mutations.map { PendingMutation($0) }, acknowledgement, taken: taken, completion: completion)
  }

  /// Queues a write. `taken` is called when the write is in the queue or could not be queued.
  package func write(
    _ mutations: [PendingMutation], _ acknowledgement: Acknowledgement = .server,
    taken: @escaping @Sendable () -> Void = {}, completion: @escaping Completion
  ) {
    let write = IssuedWrite(
      mutations: mutations, acknowledgement: acknowledgement, taken: taken, completion: completion)
    openGroup.withLock { open in
      if let group = open, group.add(write) { return }
      let group = WriteGroup(write)
      open = group
      scheduler.run { [self] in take(group) }
    }
  }

  /// Queues the writes of a group with a single fsync.
  private func take(_ group: WriteGroup) {
    let issued = openGroup.withLock { open in
      if open === group { open = nil }
      return group.writes
    }
    guard failure == nil, let time = StoredTimestamp(microseconds: scheduler.now()) else {
      let error =
        failure ?? .store(.failedPrecondition("The clock of this machine shows an invalid time."))
      return end(issued.map { ($0, error) })
    }
    let users = issued.map { write in
      let call = CallID(number())
      if write.acknowledgement == .server { writes[call] = write.completion }
      return UserWrite(mutations: write.mutations, time: time, call: call)
    }
    do throws(DocumentStoreError) {
      let results = try engine.take(users)
      recordPendingWrites()
      for (place, result) in results.enumerated() {
        finish(issued[place], users[place].call, result: result)
      }
    } catch {
      // The next open finds out which of the writes exist. `fail` has already completed the writes that wait
      // for the remote.
      fail(.store(error))
      end(issued.map { ($0, $0.acknowledgement == .local ? .store(error) : nil) })
    }
  }

  private func finish(
    _ write: IssuedWrite, _ call: CallID, result: Result<[SyncEffect], DocumentStoreError>
  ) {
    write.taken()
    switch result {
    case .success(let effects):
      // A handler may have stopped the client, but the write is in the queue nevertheless.
      if failure == nil { attempt { () throws(DocumentStoreError) in try driver.perform(effects, perform) } }
      if write.acknowledgement == .local { write.completion(nil) }
    case .failure(let error):
      // The write was not queued. If a handler of an earlier write stopped the client, the stop has already
      // completed this write.
      if write.acknowledgement == .local || writes.removeValue(forKey: call) != nil {
        write.completion(.store(error))
      }
    }
  }

  private func end(_ writes: [(write: IssuedWrite, error: OfflineSyncError?)]) {
    for (write, error) in writes {
      write.taken()
      if let error { write.completion(error) }
    }
  }

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

  /// Calls the handler with the progress of the queue: now, and after each step that changes it.
  package func listenToQueue(_ handler: @escaping QueueHandler) -> ListenerID {
    let id = numbers.next()
    enqueue { [self] in
      if let failure { return handler(.failure(failure)) }
      notifyQueueListeners()
      let progress = engine.progress
      lastNotifiedProgress = progress
      queueListeners[id] = handler
      handler(.success(progress))
    }
    return id
  }

  package func unlistenToQueue(_ id: ListenerID) {
    enqueue { [self] in
      // Releasing a handler may close the database, which calls back into this object.
      let gone = queueListeners.removeValue(forKey: id)
      withExtendedLifetime(gone) {}
    }
  }

  private func notifyQueueListeners() {
    guard !queueListeners.isEmpty else { return }
    let progress = engine.progress
    guard progress != lastNotifiedProgress else { return }
    lastNotifiedProgress = progress
    for (_, handler) in queueListeners.sorted(by: { $0.key < $1.key }) { handler(.success(progress)) }
  }

  /// Calls the handler for each rejected write of the current user. The first ones are those that the app has
  /// not seen yet, also of earlier runs. `noteSeen` removes a rejection for good.
  package func listenToRejections(_ handler: @escaping RejectionHandler) -> ListenerID {
    let id = numbers.next()
    enqueue { [self] in
      if let failure { return handler(.failure(failure)) }
      rejectionListeners[id] = RejectionListener(handler: handler)
      notifyOfKeptRejections()
    }
    return id
  }

  package func unlistenToRejections(_ id: ListenerID) {
    enqueue { [self] in
      let gone = rejectionListeners.removeValue(forKey: id)
      withExtendedLifetime(gone) {}
    }
  }

  /// Notes that the app has seen a rejection. No later listener receives it.
  package func noteSeen(_ rejection: Rejection) { send(.rejectionSeen(rejection.id, of: rejection.user)) }

  private func notify(_ rejection: Rejection, dropped: Int) {
    recorder.emit(
      .syncWriteRejected, .warning,
      fields: [
        .init("code", .text("\(rejection.error.code)")), .init("error", .text(rejection.error.message)),
        .init("documents", .count(rejection.paths.count)),
      ])
    if dropped > 0 {
      recorder.emit(.syncRejectionDropped, .warning, fields: [.init("rejections", .count(dropped))])
    }
    for id in rejectionListeners.keys.sorted() { deliver(rejection, to: id) }
  }

  private func deliver(_ rejection: Rejection, to id: ListenerID) {
    guard rejectionListeners[id]?.note(rejection) == true else { return }
    rejectionListeners[id]?.handler(.success(rejection))
  }

  /// Rejections of other users are kept until those users return.
  private func notifyOfKeptRejections() {
    guard failure == nil else { return }
    let user = engine.local.user
    for id in rejectionListeners.keys.sorted() {
      do throws(DocumentStoreError) {
        let kept = try engine.local.rejections(after: rejectionListeners[id]?.last[user])
        for rejection in kept { deliver(rejection, to: id) }
      } catch {
        rejectionListeners.removeValue(forKey: id)?.handler(.failure(.store(error)))
      }
    }
  }

  /// Calls the handler once, with the first snapshot that the remote has confirmed, or with the cached
  /// snapshot if the remote is unreachable.
  package func first(_ query: StructuredQuery, _ handler: @escaping Handler) {
    first(query, isEnough: { _ in true }, handler: handler)
  }

  /// Reads one document, and returns the engine's version of it together with the view. The engine's version
  /// is more exact, because views show an accepted write as pending until the watch stream delivers the
  /// result. A write that is based on assumed content would certainly be refused. If the content is assumed,
  /// this read therefore waits for the watch stream, and fails if the stream does not deliver the document.
  package func firstConfirmed(
    at path: DocumentPath,
    _ handler: @escaping @Sendable (Result<(ViewSnapshot, SyncedDocument), OfflineSyncError>) -> Void
  ) {
    let isEnough: @Sendable (SyncEngine) -> Bool = { engine in
      engine.isOffline || (try? engine.local.isAssumed(path)) != true
    }
    first(StructuredQuery(.document(path)), isEnough: isEnough) { [weak self] result in
      guard let self else { return }
      handler(
        result.flatMap { snapshot in
          Result { () throws(OfflineSyncError) in (snapshot, try self.known(path)) }
        })
    }
  }

  private func known(_ path: DocumentPath) throws(OfflineSyncError) -> SyncedDocument {
    let isAssumed: Bool
    let document: SyncedDocument
    do throws(DocumentStoreError) {
      isAssumed = try engine.local.isAssumed(path)
      document = try engine.local.document(path)
    } catch {
      throw .store(error)
    }
    guard isAssumed else { return document }
    throw .remote(
      RemoteError(
        .unavailable, "The remote has accepted a write of \(path), and has not sent the rest of it."))
  }

  private func first(
    _ query: StructuredQuery, isEnough: @escaping @Sendable (SyncEngine) -> Bool, handler: @escaping Handler
  ) {
    let id = numbers.next()
    enqueue { [self] in
      if let error = failure ?? Self.problem(about: query) { return handler(.failure(error)) }
      // Queued events may notify this listener again before its removal takes effect.
      let isAnswered = Locked(false)
      listeners[id] = { [weak self] result in
        // A read that is no longer in `reads` has timed out, so it accepts any snapshot.
        if case .success = result, let self, reads.contains(id), !isEnough(engine) {
          unsatisfied.insert(id)
          return
        }
        let isFirst = isAnswered.withLock { isAnswered in
          defer { isAnswered = true }
          return !isAnswered
        }
        guard isFirst else { return }
        self?.reads.remove(id)
        self?.unsatisfied.remove(id)
        // The read is removed before its handler runs, so that a listener which the handler adds does not
        // share a view with this read.
        self?.unlisten(id)
        handler(result)
      }
      reads.add(id)
      handle(.listen(id, query, ListenRules(includesMetadataChanges: true, waitsForSync: true)))
      startReadTimer()
    }
  }

  /// A connected remote that does not answer counts as unreachable. Waiting reads then receive the cached
  /// result.
  private func startReadTimer() {
    guard !reads.isEmpty, !driver.isRunning(.readSilence) else { return }
    driver.start(.readSilence, after: engine.options.silenceInterval) { [weak self] in self?.timeOutReads() }
  }

  private func timeOutReads() {
    for id in reads.overdue() {
      reads.remove(id)
      let unanswered = OfflineSyncError.remote(RemoteError(.unavailable, "The remote has not answered."))
      listeners[id]?(engine.events.last(of: id).map { .success($0) } ?? .failure(unanswered))
    }
    startReadTimer()
  }

  package func waitForPendingWrites(_ completion: @escaping Completion) {
    enqueue { [self] in
      if let failure { return completion(failure) }
      let call = CallID(number())
      waits[call] = completion
      handle(.waitForPendingWrites(call))
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

  /// Adds exported writes to the queue of their user. Returns the number of those that were not imported
  /// before.
  package func importWrites(
    _ exported: ExportedWrites, _ done: @escaping @Sendable (Result<Int, OfflineSyncError>) -> Void
  ) {
    do throws(DocumentStoreError) { _ = try exported.checkedBatches() } catch {
      return done(.failure(.store(error)))
    }
    enqueue { [self] in
      let error = handleCall(.importWrites(exported))
      done(error.map { .failure($0) } ?? engine.importResult.mapError { .store($0) })
    }
  }

  /// Removes the pending writes that an export has. Returns their number.
  package func discardWrites(
    in exported: ExportedWrites, _ done: @escaping @Sendable (Result<Int, OfflineSyncError>) -> Void
  ) {
    enqueue { [self] in
      let error = handleCall(.discardExported(exported))
      done(error.map { .failure($0) } ?? .success(engine.discardedCount))
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

  private func number() -> Int {
    lastNumber += 1
    return lastNumber
  }

  // MARK: Effects

  private func handle(_ event: SyncEvent) {
    guard failure == nil else { return }
    attempt { () throws(DocumentStoreError) in try process(event) }
  }

  /// Handles an event of the user. Returns the error that has stopped the client, or the error of an event
  /// that had no effect because the disk is full.
  private func handleCall(_ event: SyncEvent) -> OfflineSyncError? {
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
    case .watch(let target): watchStream?.stream.watch(target)
    case .unwatch(let id): watchStream?.stream.unwatch(id)
    case .closeWatch:
      watchStream?.stream.close()
      watchStream = nil
    case .openWrite(let user): openWrite(user)
    case .handshake(let token, let runs): writeStream?.stream.handshake(token, runs: runs)
    case .send(let write): writeStream?.stream.write(write)
    case .closeWrite:
      writeStream?.stream.close()
      writeStream = nil
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

  // MARK: The network

  /// The status at the start is known to the engine before it opens a stream.
  private func startMonitoring() {
    guard let networkMonitor else { return }
    stopMonitoring = networkMonitor.observe { [weak self] in
      self?.scheduler.run { [weak self] in self?.noteNetwork() }
    }
    noteNetwork()
  }

  private func noteNetwork() {
    guard let status = networkMonitor?.status else { return }
    handle(.networkChanged(status))
  }

  private func observeCredentials() {
    // The status of the network may have stopped the client.
    guard failure == nil else { return }
    stopObservingCredentials = remote.observeCredentials { [weak self] in
      self?.scheduler.run { [weak self] in self?.handle(.credentialsChanged) }
    }
  }

  // MARK: Streams

  private struct WatchConnection {
    let number: Int
    let stream: any WatchStream
    /// The stream, if it has flow control.
    let flow: (any FlowControlledWatchStream)?
  }

  private func openWatch(_ user: String?) {
    // The handler of an effect before this one may have stopped the client.
    guard failure == nil else { return }
    let number = number()
    let handler: @Sendable (WatchStreamEvent) -> Void = { [weak self] event in
      self?.scheduler.run { [weak self] in self?.take(event, number) }
    }
    assert(watchStream == nil, "The engine closes a stream before it opens another one.")
    let flow = (remote as? any FlowControlledRemote)?.openFlowControlledWatchStream(as: user, handler)
    watchStream = WatchConnection(
      number: number, stream: flow ?? remote.openWatchStream(as: user, handler), flow: flow)
    isWatchConnected = false
  }

  private func take(_ event: WatchStreamEvent, _ number: Int) {
    // Events of a closed stream are ignored.
    guard let connection = watchStream, connection.number == number else { return }
    switch event {
    case .opened:
      reads.noteMessage()
      handle(.watchOpened)
    case .changed(let change, let version):
      if !isWatchConnected { recordConnection(of: "watch") }
      isWatchConnected = true
      reads.noteMessage()
      handle(.watchChanged(change, version))
      connection.flow?.noteHandled()
    case .closed(let error):
      watchStream = nil
      recordClosing(of: "watch", error)
      handle(.watchClosed(error))
    }
  }

  private func openWrite(_ user: String?) {
    // The handler of an effect before this one may have stopped the client.
    guard failure == nil else { return }
    let number = number()
    let stream = remote.openWriteStream(as: user) { [weak self] event in
      self?.scheduler.run { [weak self] in self?.take(event, number) }
    }
    assert(writeStream == nil, "The engine closes a stream before it opens another one.")
    writeStream = (number, stream)
  }

  private func take(_ event: WriteStreamEvent, _ number: Int) {
    guard writeStream?.number == number else { return }
    switch event {
    case .opened: handle(.writeOpened)
    case .registered(let tokens): handle(.registered(tokens))
    case .handshakeComplete(let token):
      recordConnection(of: "write")
      handle(.handshakeComplete(token: token))
    case .answered(let version, let results, let token):
      handle(.writeAnswered(version, results, token: token))
    case .overtaken:
      writeStream = nil
      handle(.writeOvertaken)
    case .closed(let error):
      writeStream = nil
      recordClosing(of: "write", error)
      handle(.writeClosed(error))
    }
  }

  // MARK: Questions of a simulation

  /// Whether the client has nothing left to do: no unanswered writes, and all its views are in sync with the
  /// remote. A client whose user has turned the network off has nothing to do either. Called on the
  /// scheduler.
  package var isIdle: Bool { failure != nil || engine.isIdle }

  /// Whether a call of the user waits for the remote. Called on the scheduler.
  package var hasUnfinishedCalls: Bool {
    failure == nil && !(writes.isEmpty && waits.isEmpty && reads.isEmpty)
  }

  /// The queries of the listeners, each with its documents and whether they are confirmed by the remote.
  /// Called on the scheduler.
  package var viewedQueries: [ViewedQuery] { failure == nil ? engine.viewedQueries : [] }

  /// A description of what the client still waits for; nil if it is idle. Called on the scheduler.
  package var remainingWork: String? { failure == nil ? engine.remainingWork : nil }

  // MARK: Instruments

  /// The number of writes of the current user that the remote has not answered, as of the last event.
  package var pendingWriteCount: Int { counts.pendingWrites.load(ordering: .relaxed) }

  /// The number of listeners that are not reads of a single result.
  package var listenerCount: Int { counts.listeners.load(ordering: .relaxed) }

  /// Whether the client takes no changes from the remote, because the disk is full.
  package var isPausedByFullDisk: Bool { counts.isPaused.load(ordering: .relaxed) }

  private func recordPendingWrites() {
    let count = engine.pendingWriteCount
    guard counts.pendingWrites.exchange(count, ordering: .relaxed) != count else { return }
    recorder.measures?.gauge(.pendingWrites, is: count)
  }

  private func recordListeners(_ name: InstrumentName, _ fields: [InstrumentEvent.Field] = []) {
    counts.listeners.store(lasting.count, ordering: .relaxed)
    recorder.emit(name, .debug, fields: fields + [.init("listeners", .count(lasting.count))])
    recorder.measures?.gauge(.listeners, is: lasting.count)
  }

  private func recordConnection(of stream: String) {
    recorder.emit(.syncConnected, .info, fields: [.init("stream", .text(stream))])
  }

  private func recordClosing(of stream: String, _ error: RemoteError?) {
    recorder.emit(
      .syncDisconnected, error == nil ? .info : .warning,
      fields: [.init("stream", .text(stream)), .init("error", .text(error?.description ?? "none"))])
  }

  // MARK: The end

  /// Stops for good after a store failure, because memory may be ahead of the store. All handlers receive
  /// the error. The next open starts from the state of the store.
  private func fail(_ error: OfflineSyncError) {
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
    watchStream?.stream.close()
    writeStream?.stream.close()
    watchStream = nil
    writeStream = nil
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

private struct RejectionListener {
  let handler: SyncDriver.RejectionHandler
  /// The last rejection of each user that the listener has received.
  var last: [String?: BatchID] = [:]

  /// Returns whether the rejection is new to the listener.
  mutating func note(_ rejection: Rejection) -> Bool {
    if let last = last[rejection.user], rejection.id <= last { return false }
    last[rejection.user] = rejection.id
    return true
  }
}

/// Counts that any thread may read.
private final class SyncCounts: Sendable {
  let pendingWrites = Atomic(0)
  let listeners = Atomic(0)
  let isPaused = Atomic(false)
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
