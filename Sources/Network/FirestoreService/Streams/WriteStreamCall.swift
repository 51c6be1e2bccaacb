// A write stream.
//
//   1. The first request names the database, and may register runs of a client of Dugout. It has no writes
//      and no token. Its answer has the id of the stream and a token.
//   2. Each later request is one commit. Its answer has a token, the results and the time.
//   3. A request without writes ends the stream, and so does the first write that fails.
//
// A write is only begun when the one before it has succeeded, because a client sends all writes after a
// failed one again. No thread waits for a commit, nor for the turn of a batch.

internal import Authority
internal import ByteStore
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

final class WriteStreamCall: CallHandler {
  private let context: CallContext
  private let responder: Responder
  private let queue: ServiceQueue
  private let state: Locked<State>

  private struct State {
    var waiting: WaitingRequests
    var database: ServedDatabase?
    /// Whether a request is in progress.
    var isBusy = false
    var answerCount: UInt64 = 0

    /// Whether the caller has to add a block that begins the next request.
    mutating func needsBlock() -> Bool { !isBusy && waiting.needsBlock() }
  }

  init(_ context: CallContext, _ responder: Responder, on queue: ServiceQueue) {
    self.context = context
    self.responder = responder
    self.queue = queue
    state = Locked(State(waiting: WaitingRequests(countMax: context.options.waitingWritesMax)))
  }

  // MARK: Requests

  func receive(_ bytes: [UInt8]) {
    let (addition, needsBlock) = state.withLock { ($0.waiting.add(bytes), $0.needsBlock()) }
    if needsBlock { addBlock() }
    guard case .exceeds = addition else { return }
    context.options.onRefusal?(.waitingWrites)
    // The queue may wait for a client that never reads, so the end does not wait for the queue.
    end(WaitingRequests.tooMany)
  }

  func finish() {
    let needsBlock = state.withLock { state in
      state.waiting.finish()
      return state.needsBlock()
    }
    if needsBlock { addBlock() }
  }

  func cancel() {
    responder.cancel()
    state.withLock { $0.waiting.close() }
  }

  var waitingBytes: Int { state.withLock { $0.waiting.byteCount } }

  private func end(_ error: RemoteError? = nil) {
    responder.end(error)
    state.withLock { $0.waiting.close() }
  }

  // MARK: In blocks of the queue

  private func addBlock() { queue.add { [self] in advance() } }

  /// Begins the next request. There is a block for it only while none is in progress.
  private func advance() {
    guard !responder.isOver else { return }
    let next = state.withLock { state in
      let next = state.waiting.takeFirst()
      if case .request = next { state.isBusy = true }
      return next
    }
    switch next {
    case .nothing: break
    case .end: end()
    case .request(let bytes):
      do throws(RemoteError) { try take(bytes) } catch { end(error) }
    }
  }

  private func take(_ bytes: [UInt8]) throws(RemoteError) {
    let opened = state.withLock { $0.database }
    let request = try responder.format.decode(
      Wire.WriteRequest.self, bytes, limits: context.wireLimits(for: opened))
    guard let database = opened else { return try open(request) }
    if !request.database.isEmpty, try DatabaseName(request.database) != database.name {
      throw RemoteError(.invalidArgument, "The stream is one of the database \(database.name.text).")
    }
    guard !request.writes.isEmpty else { return end() }
    let mutations = try database.mutations(request.writes)
    if let identity = try WriteLabels.message(
      Wire.WriteIdentity.self, in: request.labels, at: WriteLabels.write)
    {
      commit(try identity.write(mutations), in: database)
    } else {
      try database.checkVerified(mutations)
      commit(mutations, in: database)
    }
  }

  // MARK: Handshake

  private func open(_ request: Wire.WriteRequest) throws(RemoteError) {
    guard request.streamToken.isEmpty, request.streamId.isEmpty else {
      throw RemoteError(
        .invalidArgument,
        "Resuming streams is not supported, 'stream_token' must not be set on an initial write request.")
    }
    guard request.writes.isEmpty else {
      throw RemoteError(.invalidArgument, "'writes' must not be set on an initial write request.")
    }
    let database = try context.database(request.database)
    guard
      let runs = try WriteLabels.message(
        Wire.RunRegistrations.self, in: request.labels, at: WriteLabels.runs)
    else { return try didOpen(database, nil) }
    register(runs.registrations, in: database)
  }

  private func didOpen(
    _ database: ServedDatabase, _ registrations: Wire.RunRegistrations?
  ) throws(RemoteError) {
    var response = Wire.IdentifiedWriteResponse()
    response.streamId = RandomName.make(context.options.random)
    response.streamToken = nextToken()
    response.registrations = registrations
    state.withLock { $0.database = database }
    try answer(response)
  }

  private func register(_ runs: [RunRegistration], in database: ServedDatabase) {
    database.authority.ledger.register(
      runs, as: context.user, connection: context.metadata.connection
    ) { [self] registered in
      context.noteRefusal(registered)
      perform { stream throws(RemoteError) in
        let tokens = try registered.get()
        let answered = runs.compactMap { run in
          tokens[run.run].map { RunRegistration(queue: run.queue, run: run.run, token: $0) }
        }
        try stream.didOpen(database, Wire.RunRegistrations(answered))
      }
    }
  }

  /// Continues the request in progress in a block of the queue, unless the stream is over. An error ends the
  /// stream.
  private func perform(_ step: @escaping @Sendable (WriteStreamCall) throws(RemoteError) -> Void) {
    queue.add { [self] in
      guard !responder.isOver else { return }
      do throws(RemoteError) { try step(self) } catch { end(error) }
    }
  }

  // MARK: Commits

  /// Commits a batch that has no identity, each time that it arrives.
  private func commit(_ mutations: [Mutation], in database: ServedDatabase) {
    database.commit(mutations, for: context.client) { [self] outcome in
      perform { stream throws(RemoteError) in
        let committed = database.response(try outcome.get())
        var response = Wire.WriteResponse()
        response.streamToken = stream.nextToken()
        response.writeResults = committed.writeResults
        response.commitTime = committed.commitTime
        try stream.answer(response)
      }
    }
  }

  /// Commits a batch of a client of Dugout, once.
  private func commit(_ write: RemoteWrite, in database: ServedDatabase) {
    database.waitForLocks(of: write.mutations, for: context.client) { [self] error in
      // The ledger must not run on the thread that has ended the wait.
      perform { stream throws(RemoteError) in
        if let error { throw error }
        database.authority.take(
          write, as: stream.context.user, connection: stream.context.metadata.connection
        ) { taken in
          stream.context.noteRefusal(taken)
          stream.perform { stream throws(RemoteError) in try stream.didTake(try taken.get()) }
        }
      }
    }
  }

  private func didTake(_ taken: ServedDatabase.Committed?) throws(RemoteError) {
    var response = Wire.IdentifiedWriteResponse()
    response.streamToken = nextToken()
    guard let taken else {
      response.isOvertaken = true
      try responder.send(response)
      throw AuthorityLife.guardFailed
    }
    response.writeResults = taken.results.map { Wire.IdentifiedWriteResult($0) }
    response.commitTime = Wire.Timestamp(taken.version.stored)
    try answer(response)
  }

  /// Sends an answer, and begins the next request.
  private func answer(_ response: some WireMessage) throws(RemoteError) {
    try responder.send(response)
    let needsBlock = state.withLock { state in
      state.isBusy = false
      return state.needsBlock()
    }
    if needsBlock { addBlock() }
  }

  /// A token that no earlier answer had. Clients send it back, and may send an older one.
  private func nextToken() -> [UInt8] {
    let count = state.withLock { state in
      state.answerCount += 1
      return state.answerCount
    }
    var token: [UInt8] = []
    token.append(littleEndian: count)
    return token
  }
}
