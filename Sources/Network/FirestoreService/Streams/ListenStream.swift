// A watch stream.
//
// Invariants:
//   - All steps run in blocks of the queue, in the order of the requests. Only the end of a stream for which
//     too many requests wait does not wait for the queue.
//   - The first request names the database. A later one may name it again, and no other.
//   - A target that cannot be watched is answered by its removal, with the cause. The stream stays.
//   - A stream that is closed has no session: one that was being opened meanwhile is closed at once.

internal import Authority
internal import ByteStore
internal import FirestoreWire
internal import OfflineSync

final class ListenStream: CallHandler {
  private let context: CallContext
  private let responder: Responder
  private let queue: ServiceQueue
  private let state: Locked<State>

  private struct State {
    var waiting: WaitingRequests
    var database: ServedDatabase?
    var session: WatchSession?
    /// Whether the stream has ended or was cancelled, perhaps while a block of the queue opens its session.
    var isClosed = false
  }

  init(_ context: CallContext, _ responder: Responder, on queue: ServiceQueue) {
    self.context = context
    self.responder = responder
    self.queue = queue
    state = Locked(State(waiting: WaitingRequests(countMax: context.options.waitingTargetsMax)))
  }

  deinit {
    if let session = state.withLock({ $0.session }) { queue.runAside { session.close() } }
  }

  // MARK: Requests

  func receive(_ bytes: [UInt8]) {
    let (addition, needsBlock) = state.withLock { ($0.waiting.add(bytes), $0.waiting.needsBlock()) }
    if needsBlock { addBlock() }
    guard case .exceeds = addition else { return }
    context.options.onRefusal?(.waitingTargets)
    end(WaitingRequests.tooMany)
  }

  /// Ends the stream after the answers to the requests before.
  func finish() {
    let needsBlock = state.withLock { state in
      state.waiting.finish()
      return state.waiting.needsBlock()
    }
    if needsBlock { addBlock() }
  }

  var waitingBytes: Int { state.withLock { $0.waiting.byteCount } }

  func cancel() {
    responder.cancel()
    close()
  }

  /// Has the queue take the next request.
  private func addBlock() {
    queue.add { [weak self] in
      guard let self, !responder.isOver else { return }
      do throws(RemoteError) { try takeNext() } catch { end(error) }
    }
  }

  private func takeNext() throws(RemoteError) {
    let (next, needsBlock) = state.withLock { ($0.waiting.takeFirst(), $0.waiting.needsBlock()) }
    // The next request comes before the answers to this one.
    if case .request = next, needsBlock { addBlock() }
    switch next {
    case .nothing: break
    case .end: queue.add { [weak self] in self?.end(nil) }
    case .request(let bytes): try take(bytes)
    }
  }

  private func take(_ bytes: [UInt8]) throws(RemoteError) {
    let request = try responder.format.decode(
      Wire.ListenRequest.self, bytes, limits: context.wireLimits())
    let (database, session) = try open(request.database)
    switch request.targetChange {
    case .addTarget(let target): add(target, request.labels, in: database, to: session)
    case .removeTarget(let id): session.unwatch(TargetID(id))
    case nil: throw RemoteError(.invalidArgument, "The request neither adds nor removes a target.")
    }
  }

  private func add(
    _ message: Wire.Target, _ labels: Wire.Labels, in database: ServedDatabase, to session: WatchSession
  ) {
    let target: WatchTarget
    do throws(RemoteError) { target = try database.name.watchTarget(message, labels) } catch {
      return session.refuse(TargetID(message.targetId), error)
    }
    session.watch(target)
  }

  // MARK: Session

  private func open(_ name: String) throws(RemoteError) -> (ServedDatabase, WatchSession) {
    let (known, session) = state.withLock { ($0.database, $0.session) }
    if let known, let session {
      if !name.isEmpty, try DatabaseName(name) != known.name {
        throw RemoteError(.invalidArgument, "The stream is one of the database \(known.name.text).")
      }
      return (known, session)
    }
    let database = try context.database(name)
    let documentsName = database.name.documentsName
    let opened = database.authority.openWatchSession(
      as: context.user, documentsName: documentsName, enqueue: queue.add,
      send: { [weak self] change, version in self?.send(change, version, of: database) },
      ended: { [weak self] error in
        if error == .tooManyAnswers { self?.context.options.onRefusal?(.waitingTargets) }
        self?.end(error)
      })
    let isKept = state.withLock { state in
      guard !state.isClosed else { return false }
      state.database = database
      state.session = opened
      return true
    }
    // A closed session ignores all requests.
    if !isKept { opened.close() }
    return (database, opened)
  }

  /// Sends a message of the session. Called in blocks of the queue.
  private func send(_ change: WatchChange, _ version: SnapshotVersion, of database: ServedDatabase) {
    if case .target(_, _, _, .tooManyTargets?) = change { context.options.onRefusal?(.targets) }
    do throws(RemoteError) {
      try responder.send(database.name.wire(change, version))
    } catch {
      end(error)
    }
  }

  private func end(_ error: RemoteError?) {
    close()
    responder.end(error)
  }

  private func close() {
    let session = state.withLock { state in
      state.isClosed = true
      state.waiting.close()
      defer { state.session = nil }
      return state.session
    }
    // The session waits for a delivery that is running.
    if let session { queue.runAside { session.close() } }
  }
}

extension DatabaseName {
  /// The target of a request.
  fileprivate func watchTarget(
    _ message: Wire.Target, _ labels: Wire.Labels
  ) throws(RemoteError) -> WatchTarget {
    guard case .documents(let list) = message.targetType, list.documents.count > 1 else {
      return try single(message, labels)
    }
    // A target of several documents is read like one of the first document.
    var first = message
    var one = list
    one.documents = Array(list.documents.prefix(1))
    first.targetType = .documents(one)
    var target = try single(first, labels)
    for name in list.documents { target.documents.append(try path(of: name)) }
    return target
  }

  private func single(_ message: Wire.Target, _ labels: Wire.Labels) throws(RemoteError) -> WatchTarget {
    let request = try target(message, labels: labels)
    var target = request.target
    target.once = request.isOnce
    return target
  }
}
