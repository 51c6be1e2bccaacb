// Has the engine run: performs what it wants done, and tells it what happens.
//
// Everything happens on one scheduler, one thing after the other. Handlers are called there, too, and must not wait:
// whoever has something to tell users puts it on a queue of theirs.

internal import ByteStore
internal import Dispatch
package import DocumentStore

/// A client of a remote at work. Usable from any thread.
package final class SyncDriver: @unchecked Sendable {
  // All that changes is touched on the scheduler alone, which does one thing at a time.
  package typealias Handler = @Sendable (Result<ViewSnapshot, OfflineSyncError>) -> Void
  package typealias Completion = @Sendable (OfflineSyncError?) -> Void
  package typealias QueueHandler = @Sendable (Result<QueueProgress, OfflineSyncError>) -> Void
  package typealias RejectionHandler = @Sendable (Result<Rejection, OfflineSyncError>) -> Void

  /// When a write counts as done.
  package enum Acknowledgement: Sendable {
    /// When it is in the queue, from where nothing but an answer takes it.
    case local
    /// When the remote has accepted it.
    case server
  }

  package let store: DocumentStore
  private let remote: any Remote
  private let scheduler: any SyncScheduler
  private let engine: SyncEngine
  private var watchStream: (number: Int, stream: any WatchStream)?
  private var writeStream: (number: Int, stream: any WriteStream)?
  private var timers: [SyncTimer: Int] = [:]
  private var listeners: [ListenerID: Handler] = [:]
  /// Of the listeners, those that wait for one answer.
  private var reads = WaitingReads()
  /// Of these, those that have a state already which is not enough for them.
  private var unsatisfied: Set<ListenerID> = []
  private var syncListeners: [ListenerID: @Sendable () -> Void] = [:]
  private var queueListeners: [ListenerID: QueueHandler] = [:]
  /// What they were told last.
  private var toldProgress: QueueProgress?
  private var rejectionListeners: [ListenerID: RejectionHandler] = [:]
  /// What was rejected while nobody listened, for the first who does. What an earlier run has left in the queue may be
  /// answered as soon as the store is open.
  private var missedRejections: [Rejection] = []
  private static let missedRejectionsMax = 100
  private var writes: [CallID: Completion] = [:]
  private var waits: [CallID: Completion] = [:]
  private var lastNumber = 0
  /// To which writes are added that come next. Held while the order of calls is decided.
  private let gathering = Locked<WriteGroup?>(nil)
  /// Why nothing works any more.
  private var failure: OfflineSyncError?
  private let numbers = ListenerNumbers()

  package init(
    _ local: LocalStore, _ remote: any Remote, _ options: SyncEngine.Options, _ scheduler: any SyncScheduler
  ) {
    store = local.store
    self.remote = remote
    self.scheduler = scheduler
    var options = options
    options.documentsName = remote.documentsName
    engine = SyncEngine(local, options)
    scheduler.run { [self] in attempt { () throws(DocumentStoreError) in try engine.start() } }
  }

  /// A remote keeps streams until they are closed.
  deinit {
    watchStream?.stream.close()
    writeStream?.stream.close()
  }

  // MARK: Users

  /// `taken` is called once it is in the queue, or will never be.
  package func write(
    _ mutations: [Mutation], _ acknowledgement: Acknowledgement = .server,
    taken: @escaping @Sendable () -> Void = {}, _ completion: @escaping Completion
  ) {
    let write = IssuedWrite(
      mutations: mutations, acknowledgement: acknowledgement, taken: taken, completion: completion)
    gathering.withLock { open in
      if let group = open, group.add(write) { return }
      let group = WriteGroup(write)
      open = group
      scheduler.run { [self] in take(group) }
    }
  }

  /// Writes that came while others were being written: one sync for all of them.
  private func take(_ group: WriteGroup) {
    let issued = gathering.withLock { open in
      if open === group { open = nil }
      return group.writes
    }
    guard failure == nil, let time = StoredTimestamp(microseconds: scheduler.now()) else {
      let error =
        failure ?? .store(.failedPrecondition("The clock of this machine shows no time that there is."))
      return end(issued.map { ($0, error) })
    }
    let users = issued.map { write in
      let call = CallID(number())
      if write.acknowledgement == .server { writes[call] = write.completion }
      return UserWrite(mutations: write.mutations, time: time, call: call)
    }
    do throws(DocumentStoreError) {
      for (place, result) in try engine.take(users).enumerated() {
        finish(issued[place], users[place].call, result)
      }
    } catch {
      // Which of them are there, the next opening tells. Those that wait for the remote are told with all others.
      fail(.store(error))
      end(issued.map { ($0, $0.acknowledgement == .local ? .store(error) : nil) })
    }
  }

  private func finish(
    _ write: IssuedWrite, _ call: CallID, _ result: Result<[SyncEffect], DocumentStoreError>
  ) {
    write.taken()
    switch result {
    case .success(let effects):
      // A handler may have stopped all of it; the write is in the queue.
      if failure == nil { perform(effects) }
      if write.acknowledgement == .local { write.completion(nil) }
    case .failure(let error):
      // Nothing has happened. A handler of one before may have stopped all of it, which has told it then.
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

  /// Behind all calls before this one: a write that comes later is not done together with those.
  private func enqueue(_ body: @escaping @Sendable () -> Void) {
    gathering.withLock { open in
      open = nil
      scheduler.run(body)
    }
  }

  /// A query that is beyond the limits is answered with that, and no other call learns of it.
  package func listen(
    to query: StructuredQuery, _ rules: ListenRules, _ handler: @escaping Handler
  ) -> ListenerID {
    let id = numbers.next()
    enqueue { [self] in
      if let error = failure ?? Self.complaint(about: query) { return handler(.failure(error)) }
      listeners[id] = handler
      handle(.listen(id, query, rules))
    }
    return id
  }

  private static let queryBytesMax = 1 << 20

  private static func complaint(about query: StructuredQuery) -> OfflineSyncError? {
    do throws(DocumentStoreError) { try query.check() } catch { return .store(error) }
    // It is kept with what is known of its answer.
    let bytes = query.targetID.utf8.count
    guard bytes > queryBytesMax else { return nil }
    return .store(.invalidArgument("The query has \(bytes) bytes, and the limit is \(queryBytesMax)."))
  }

  package func unlisten(_ id: ListenerID) {
    enqueue { [self] in
      if listeners.removeValue(forKey: id) != nil { handle(.unlisten(id)) }
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

  /// How far the queue is: once now, and then after each step that changes it.
  package func listenToQueue(_ handler: @escaping QueueHandler) -> ListenerID {
    let id = numbers.next()
    scheduler.run { [self] in
      if let failure { return handler(.failure(failure)) }
      tellQueue()
      let progress = engine.progress
      toldProgress = progress
      queueListeners[id] = handler
      handler(.success(progress))
    }
    return id
  }

  package func unlistenToQueue(_ id: ListenerID) {
    scheduler.run { [self] in
      // Whoever is let go of may end the database, and come here again.
      let gone = queueListeners.removeValue(forKey: id)
      withExtendedLifetime(gone) {}
    }
  }

  private func tellQueue() {
    guard !queueListeners.isEmpty else { return }
    let progress = engine.progress
    guard progress != toldProgress else { return }
    toldProgress = progress
    for handler in queueListeners.values { handler(.success(progress)) }
  }

  /// Each write of the current user that the remote rejects from now on, and the last ones of those that were rejected
  /// while nobody listened.
  package func listenToRejections(_ handler: @escaping RejectionHandler) -> ListenerID {
    let id = numbers.next()
    scheduler.run { [self] in
      if let failure { return handler(.failure(failure)) }
      rejectionListeners[id] = handler
      tellMissedRejections()
    }
    return id
  }

  package func unlistenToRejections(_ id: ListenerID) {
    scheduler.run { [self] in
      let gone = rejectionListeners.removeValue(forKey: id)
      withExtendedLifetime(gone) {}
    }
  }

  private func tell(_ rejection: Rejection) {
    guard rejectionListeners.isEmpty else {
      for handler in rejectionListeners.values { handler(.success(rejection)) }
      return
    }
    missedRejections = Array((missedRejections + [rejection]).suffix(Self.missedRejectionsMax))
  }

  /// Those of other users wait until they are back.
  private func tellMissedRejections() {
    guard !rejectionListeners.isEmpty, !missedRejections.isEmpty else { return }
    let missed = missedRejections.filter { $0.user == engine.local.user }
    missedRejections.removeAll { $0.user == engine.local.user }
    for rejection in missed { for handler in rejectionListeners.values { handler(.success(rejection)) } }
  }

  /// The first state that the remote has confirmed, or what there is once it cannot be reached.
  package func first(_ query: StructuredQuery, _ handler: @escaping Handler) {
    first(query, isEnough: { _ in true }, handler)
  }

  /// The same of one document, with what the engine knows of it: who listens already sees an accepted write as one that
  /// waits until the watch stream tells what came of it. If nobody knows that yet, it waits for the watch stream, and fails
  /// if that cannot tell: what is written for what was not read would be refused for certain.
  package func firstKnown(
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
        .unavailable, "The remote has accepted a write of \(path), and has not told what else is in it."))
  }

  private func first(
    _ query: StructuredQuery, isEnough: @escaping @Sendable (SyncEngine) -> Bool, _ handler: @escaping Handler
  ) {
    let id = numbers.next()
    enqueue { [self] in
      if let error = failure ?? Self.complaint(about: query) { return handler(.failure(error)) }
      // What is under way already may tell it again before the end of the listening gets its turn.
      let isAnswered = Locked(false)
      listeners[id] = { [weak self] result in
        // Whoever does not count among the reads any more has waited long enough.
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
        // First: whoever hears the answer and listens then finds no listening of this read.
        self?.unlisten(id)
        handler(result)
      }
      reads.add(id)
      handle(.listen(id, query, ListenRules(includesMetadataChanges: true, waitsForSync: true)))
      watchReads()
    }
  }

  /// A remote that is connected and says nothing is as good as none: what is here is the answer then.
  private func watchReads() {
    guard !reads.isEmpty, timers[.readSilence] == nil else { return }
    start(.readSilence, engine.options.silence)
  }

  private func endSilentReads() {
    for id in reads.overdue() {
      reads.remove(id)
      let unanswered = OfflineSyncError.remote(RemoteError(.unavailable, "The remote has not answered."))
      listeners[id]?(engine.events.last(of: id).map { .success($0) } ?? .failure(unanswered))
    }
    watchReads()
  }

  package func waitForPendingWrites(_ completion: @escaping Completion) {
    enqueue { [self] in
      if let failure { return completion(failure) }
      let call = CallID(number())
      waits[call] = completion
      handle(.waitForPendingWrites(call))
    }
  }

  /// Any event of a user that nobody waits for; `done` when it has been taken up, or with why it could not be.
  package func send(_ event: SyncEvent, _ done: @escaping Completion = { _ in }) {
    enqueue { [self] in
      handle(event)
      done(failure)
    }
  }

  /// The same, while the caller's thread waits.
  package func inspectNow<Value: Sendable>(
    _ body: @escaping @Sendable (SyncEngine) throws(DocumentStoreError) -> Value
  ) throws(DocumentStoreError) -> Value {
    if scheduler.isCurrent { return try body(engine) }
    let found = Locked<Result<Value, DocumentStoreError>?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    inspect { engine in
      let result = Result { () throws(DocumentStoreError) in try body(engine) }
      found.withLock { $0 = result }
      isDone.signal()
    }
    isDone.wait()
    guard let result = found.withLock({ $0 }) else { preconditionFailure("it was just looked at") }
    return try result.get()
  }

  /// Looks at the engine where nobody changes it.
  package func inspect(_ body: @escaping @Sendable (SyncEngine) -> Void) {
    enqueue { [self] in body(engine) }
  }

  /// Ends the streams and returns. Who waits for one answer is told that there will be none; writes stay in the queue.
  /// Listeners are told nothing more.
  package func stop() {
    // The last reference to a database may be that of a listener, which is let go of here.
    if scheduler.isCurrent { return end() }
    let isStopped = DispatchSemaphore(value: 0)
    enqueue { [self] in
      end()
      isStopped.signal()
    }
    isStopped.wait()
  }

  private func end() {
    // What could wait until now; without it, more is asked again.
    if failure == nil { try? engine.local.flush() }
    let end = failure ?? .remote(RemoteError(.cancelled, "The client has been terminated."))
    failure = end
    for id in reads.all { listeners[id]?(.failure(end)) }
    for completion in Array(writes.values) + Array(waits.values) { completion(end) }
    letGo()
  }

  /// As if the process had died: nothing is done any more, and the store is left as it is.
  package func abandon() {
    failure = .remote(RemoteError(.cancelled, "The client is gone."))
    letGo()
  }

  private func number() -> Int {
    lastNumber += 1
    return lastNumber
  }

  // MARK: Effects

  private func handle(_ event: SyncEvent) {
    guard failure == nil else { return }
    attempt { () throws(DocumentStoreError) in try engine.handle(event) }
    if case .changeUser = event { tellMissedRejections() }
    guard !unsatisfied.isEmpty else { return }
    for id in unsatisfied.sorted() {
      if let last = engine.events.last(of: id) { listeners[id]?(.success(last)) }
    }
  }

  private func attempt(_ body: () throws(DocumentStoreError) -> [SyncEffect]) {
    do throws(DocumentStoreError) { perform(try body()) } catch { fail(.store(error)) }
  }

  private func perform(_ effects: [SyncEffect]) {
    for effect in effects {
      switch effect {
      case .openWatch(let user): openWatch(user)
      case .watch(let target): watchStream?.stream.watch(target)
      case .unwatch(let id): watchStream?.stream.unwatch(id)
      case .closeWatch:
        watchStream?.stream.close()
        watchStream = nil
      case .openWrite(let user): openWrite(user)
      case .handshake(let token): writeStream?.stream.handshake(token)
      case .send(let write): writeStream?.stream.write(write)
      case .closeWrite:
        writeStream?.stream.close()
        writeStream = nil
      case .lookUp(let batch, let paths, let user):
        remote.documents(at: paths, as: user) { [weak self] result in
          self?.scheduler.run { [weak self] in self?.handle(.lookedUp(batch, result)) }
        }
      case .startTimer(let timer, let microseconds): start(timer, microseconds)
      case .stopTimer(let timer): timers[timer] = nil
      case .tell(let id, let snapshot): listeners[id]?(.success(snapshot))
      case .failListener(let id, let error):
        listeners.removeValue(forKey: id)?(.failure(.remote(error)))
      case .refuse(let id, let refusal): listeners[id]?(.failure(.refused(refusal)))
      case .tellSync(let id): syncListeners[id]?()
      case .finishWrite(let call, let error):
        writes.removeValue(forKey: call)?(error.map { .remote($0) })
      case .finishWait(let call, let error):
        waits.removeValue(forKey: call)?(error.map { .remote($0) })
      case .rejected(let rejection): tell(rejection)
      }
    }
    tellQueue()
  }

  private func start(_ timer: SyncTimer, _ microseconds: Int64) {
    let number = number()
    timers[timer] = number
    scheduler.run(after: microseconds) { [weak self] in
      guard let self, timers[timer] == number else { return }
      timers[timer] = nil
      if timer == .readSilence { endSilentReads() } else { handle(.timer(timer)) }
    }
  }

  // MARK: Streams

  private func openWatch(_ user: String?) {
    let number = number()
    let stream = remote.openWatchStream(as: user) { [weak self] event in
      self?.scheduler.run { [weak self] in self?.take(event, number) }
    }
    watchStream = (number, stream)
  }

  private func take(_ event: WatchStreamEvent, _ number: Int) {
    // One that was closed has nothing to say any more.
    guard watchStream?.number == number else { return }
    switch event {
    case .opened:
      reads.hear()
      handle(.watchOpened)
    case .changed(let change, let version):
      reads.hear()
      handle(.watchChanged(change, version))
    case .closed(let error):
      watchStream = nil
      handle(.watchClosed(error))
    }
  }

  private func openWrite(_ user: String?) {
    let number = number()
    let stream = remote.openWriteStream(as: user) { [weak self] event in
      self?.scheduler.run { [weak self] in self?.take(event, number) }
    }
    writeStream = (number, stream)
  }

  private func take(_ event: WriteStreamEvent, _ number: Int) {
    guard writeStream?.number == number else { return }
    switch event {
    case .opened: handle(.writeOpened)
    case .handshakeComplete(let token): handle(.handshakeComplete(token: token))
    case .answered(let version, let results, let token):
      handle(.writeAnswered(version, results, token: token))
    case .overtaken:
      writeStream = nil
      handle(.writeOvertaken)
    case .closed(let error):
      writeStream = nil
      handle(.writeClosed(error))
    }
  }

  // MARK: The end

  /// The store has failed: what memory has may be ahead of it. Everybody is told; opening it again goes on from what
  /// it has.
  private func fail(_ error: OfflineSyncError) {
    failure = error
    for listener in listeners.values { listener(.failure(error)) }
    for listener in queueListeners.values { listener(.failure(error)) }
    for listener in rejectionListeners.values { listener(.failure(error)) }
    for completion in Array(writes.values) + Array(waits.values) { completion(error) }
    letGo()
  }

  private func letGo() {
    watchStream?.stream.close()
    writeStream?.stream.close()
    watchStream = nil
    writeStream = nil
    timers = [:]
    reads = WaitingReads()
    unsatisfied = []
    // Whoever is let go of may end the database, and come here again.
    let gone = (listeners, syncListeners, queueListeners, rejectionListeners, writes, waits)
    listeners = [:]
    syncListeners = [:]
    queueListeners = [:]
    rejectionListeners = [:]
    writes = [:]
    waits = [:]
    withExtendedLifetime(gone) {}
  }
}

/// Numbers for listeners, from any thread.
private final class ListenerNumbers: Sendable {
  private let last = Locked(0)

  func next() -> ListenerID {
    last.withLock { last in
      last += 1
      return ListenerID(last)
    }
  }
}
