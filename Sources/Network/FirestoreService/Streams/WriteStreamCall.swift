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
  /// The maximum size of the requests that wait.
  private static let waitingBytesMax = 32 << 20

  private let context: CallContext
  private let responder: Responder
  private let queue: ServiceQueue
  private let state = Locked(State())

  private struct State {
    var database: ServedDatabase?
    /// Requests that wait, oldest first.
    var waiting: [[UInt8]] = []
    var waitingBytes = 0
    /// Whether a request is in progress.
    var isBusy = false
    var isFinished = false
    var answerCount: UInt64 = 0
  }

  init(_ context: CallContext, _ responder: Responder, on queue: ServiceQueue) {
    self.context = context
    self.responder = responder
    self.queue = queue
  }

  // MARK: Requests

  func receive(_ bytes: [UInt8]) {
    let isTaken = state.withLock { state in
      guard state.waiting.count < context.options.waitingWritesMax,
        state.waitingBytes + bytes.count <= Self.waitingBytesMax || state.waiting.isEmpty
      else { return false }
      state.waiting.append(bytes)
      state.waitingBytes += bytes.count
      return true
    }
    queue.add { [self] in
      guard isTaken else {
        context.options.onRefusal?(.waitingWrites)
        return responder.end(
          RemoteError(.resourceExhausted, "Too many requests of the stream wait for earlier ones."))
      }
      advance()
    }
  }

  func finish() {
    state.withLock { $0.isFinished = true }
    queue.add { [self] in advance() }
  }

  func cancel() { responder.cancel() }

  // MARK: In blocks of the queue

  private enum Step {
    case take([UInt8])
    case end
    case wait
  }

  /// Begins the next request, unless one is in progress.
  private func advance() {
    guard !responder.isOver else { return }
    let step: Step = state.withLock { state in
      guard !state.isBusy else { return .wait }
      guard !state.waiting.isEmpty else { return state.isFinished ? .end : .wait }
      state.isBusy = true
      let bytes = state.waiting.removeFirst()
      state.waitingBytes -= bytes.count
      return .take(bytes)
    }
    switch step {
    case .wait: break
    case .end: responder.end()
    case .take(let bytes):
      do throws(RemoteError) { try take(bytes) } catch { responder.end(error) }
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
    guard !request.writes.isEmpty else { return responder.end() }
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
      noteRefusal(registered)
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
      do throws(RemoteError) { try step(self) } catch { responder.end(error) }
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
          stream.noteRefusal(taken)
          stream.perform { stream throws(RemoteError) in try stream.didTake(try taken.get()) }
        }
      }
    }
  }

  private func noteRefusal(_ outcome: Result<some Any, RemoteError>) {
    switch outcome {
    case .failure(.overloaded): context.options.onRefusal?(.waitingCommits)
    case .failure(.tooManyTurns): context.options.onRefusal?(.waitingWrites)
    default: break
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
    state.withLock { $0.isBusy = false }
    queue.add { [self] in advance() }
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
