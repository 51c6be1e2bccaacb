// A write stream: a handshake, then one request for each batch.
//
//   - The handshake has no token of an earlier stream, because Firestore refuses it. It names the runs of the
//     client in a label, which Firestore ignores.
//   - A server of Dugout answers with registrations. Batches then have an identity, and are applied once.
//   - Each request has the last token of the stream.
//   - When the app has another token, the stream waits for the answers to the batches that it has sent.
//     Another server than Dugout would apply a batch again whose answer is on its way. Batches of that time
//     are not sent. The client sends all batches without an answer on its next stream.

internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

/// It works on the scheduler of its remote.
final class BatchStream: WriteStream, @unchecked Sendable {
  // The conformance is unchecked, because the state is only accessed on the serial scheduler.
  private enum Phase: Equatable { case opened, shaking, ready, closed }

  private let context: RemoteContext
  private let handler: @Sendable (WriteStreamEvent) -> Void
  private var call: StreamCall?
  private var phase = Phase.opened
  private var token: [UInt8] = []
  /// Whether the server is one of Dugout.
  private var isRegistered = false
  /// The batches without an answer, oldest first.
  private var sent: [SentBatch] = []
  /// The reason why a batch cannot be sent. It ends the stream when the batches before have their answers,
  /// because the client takes it for the answer to the oldest batch.
  private var unsendable: RemoteError?
  /// Whether the stream only waits for answers, because the app has another token.
  private var isDraining = false

  init(
    _ context: RemoteContext, as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) {
    self.context = context
    self.handler = handler
    context.scheduler.run { [self] in open(as: user) }
  }

  // MARK: The client's side

  func handshake(_ token: [UInt8], runs: [RunRegistration]) {
    context.scheduler.run { [self] in shakeHands(runs) }
  }

  func write(_ write: RemoteWrite) { context.scheduler.run { [self] in send(write) } }

  func close() { context.scheduler.run { [self] in end() } }

  // MARK: On the scheduler

  private func open(as user: String?) {
    guard phase == .opened else { return }
    // The call keeps the stream until its end.
    let call = StreamCall(
      context, "Write", as: user,
      taken: { [self] bytes throws(RemoteError) in try take(bytes) },
      renewed: { [self] in drain() },
      ended: { [self] error in ended(error) })
    self.call = call
    handler(.opened)
    call.start()
  }

  private func shakeHands(_ runs: [RunRegistration]) {
    guard phase == .opened else { return }
    phase = .shaking
    var request = Wire.WriteRequest()
    request.database = context.database.text
    do throws(RemoteError) {
      if !runs.isEmpty { request.labels[WriteLabels.runs] = try label(Wire.RunRegistrations(runs)) }
      call?.send(try RemoteContext.encode(request))
    } catch {
      call?.end(error)
    }
  }

  private func send(_ write: RemoteWrite) {
    guard phase == .ready, unsendable == nil, !isDraining else { return }
    let batch = SentBatch(write, isRegistered: isRegistered)
    do throws(RemoteError) {
      var request = Wire.WriteRequest()
      request.streamToken = token
      request.writes = try batch.writes(in: context.database)
      if isRegistered {
        var identity = Wire.WriteIdentity(write)
        identity.guardCount = Int32(clamping: batch.guards.count)
        request.labels[WriteLabels.write] = try label(identity)
      }
      let message = try RemoteContext.encode(batch: request)
      sent.append(batch)
      call?.send(message)
    } catch {
      unsendable = error
      endIfAnswered()
    }
  }

  /// Ends the stream if it sends no more batches and has all answers.
  private func endIfAnswered() {
    guard sent.isEmpty, isDraining || unsendable != nil else { return }
    call?.end(unsendable)
  }

  private func label(_ message: some WireMessage) throws(RemoteError) -> String {
    do throws(WireError) { return try WriteLabels.text(message) } catch { throw RemoteError(error) }
  }

  // MARK: Answers

  private func take(_ bytes: [UInt8]) throws(RemoteError) {
    let response: Wire.IdentifiedWriteResponse
    do throws(RemoteError) { response = try RemoteContext.read(bytes) } catch {
      return try takeUnreadable(bytes, error)
    }
    token = response.streamToken
    switch phase {
    case .shaking: completeHandshake(response)
    case .ready: try answer(response)
    case .opened, .closed: throw Self.unasked
    }
  }

  private func completeHandshake(_ response: Wire.IdentifiedWriteResponse) {
    phase = .ready
    if let registrations = response.registrations?.registrations {
      isRegistered = true
      handler(.registered(Dictionary(registrations.map { ($0.run, $0.token) }) { _, last in last }))
    }
    handler(.handshakeComplete(token: token))
  }

  private func answer(_ response: Wire.IdentifiedWriteResponse) throws(RemoteError) {
    guard let batch = sent.first else { throw Self.unasked }
    guard !response.isOvertaken else { return overtake() }
    let results = try batch.results(response.writeResults, withGuards: !isRegistered)
    sent.removeFirst()
    handler(.answered(SnapshotVersion(response.commitTime), results, token: token))
    endIfAnswered()
  }

  /// Takes an answer whose times or values cannot be read. The server has accepted the batch, and would give
  /// the same answer again. The client computes the values itself.
  private func takeUnreadable(_ bytes: [UInt8], _ error: RemoteError) throws(RemoteError) {
    guard phase == .ready, let batch = sent.first,
      let answer = try? Wire.UnreadableWriteResponse(json: bytes, limits: RemoteContext.limits),
      let results = try? batch.unreadableResults(answer.results.count, withGuards: !isRegistered)
    else { throw RemoteContext.unreadable(error) }
    token = answer.streamToken
    sent.removeFirst()
    handler(.answered(.none, results, token: token))
    endIfAnswered()
  }

  private static let unasked = RemoteError(.internal, "The server has answered a batch that was not sent.")

  private func overtake() {
    end()
    handler(.overtaken)
  }

  // MARK: The end

  /// Ends the stream when the batches that were sent have their answers, or after the time limit of a call.
  private func drain() {
    guard !isDraining else { return }
    isDraining = true
    // The timer does not keep the stream after its end.
    context.scheduler.run(after: context.callTimeLimit) { [weak call] in call?.end(nil) }
    endIfAnswered()
  }

  private func ended(_ error: RemoteError?) {
    if let error, !isRegistered, let batch = sent.first, batch.isOvertaken(error) { return overtake() }
    end()
    handler(.closed(error))
  }

  private func end() {
    phase = .closed
    sent = []
    call?.close()
    call = nil
  }
}
