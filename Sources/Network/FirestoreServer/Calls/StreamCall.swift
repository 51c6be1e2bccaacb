// A call with a stream of requests: Listen and Write.

internal import ByteStore
internal import FirestoreService
internal import FirestoreWire
internal import HTTPTransport
internal import OfflineSync

/// An open stream. When the server shuts down, a watch stream ends at once, and a write stream after the
/// writes that it has taken. Both end with UNAVAILABLE, so that their clients open them again.
final class StreamCall: GRPCReceiver, DrainableStream {
  private struct State {
    var call: ServiceCall?
    /// The memory of the requests that wait.
    let share: HeldMemoryShare
    var isDraining = false
    var hasRequest = false
    var isOver = false
  }

  private let runner: CallRunner
  private let method: ServerMethod
  private let record: RequestRecord
  private let answer: GRPCAnswer
  private let state: Locked<State>

  /// Begins a stream. Throws UNAVAILABLE if the server is shutting down.
  init(
    _ runner: CallRunner, _ method: ServerMethod, metadata: CallMetadata, record: RequestRecord,
    answer: GRPCAnswer
  ) throws(RemoteError) {
    self.runner = runner
    self.method = method
    self.record = record
    self.answer = answer
    state = Locked(State(share: HeldMemoryShare(of: answer.budget)))
    guard runner.streams.add(self) else { throw CallRunner.draining }
    runner.journal.metrics.openStreams.add(1)
    let call = runner.service.handle(
      method.name, metadata: metadata, format: .protobuf,
      on: ServiceQueue(of: answer.queue, for: method)
    ) { [weak self] event in self?.deliver(event) }
    let isDraining = state.withLock { state in
      state.call = call
      return state.isDraining
    }
    // The server began to shut down meanwhile.
    if isDraining { drain() }
  }

  // MARK: From the client

  func receive(_ message: [UInt8]) {
    record.received(message.count)
    let (call, isFirst) = state.withLock { state in
      defer { state.hasRequest = true }
      // A client that goes on sending does not keep its stream open. It sends these writes again.
      return (state.isDraining ? nil : state.call, !state.hasRequest)
    }
    if isFirst { runner.note(RequestPeek.database(in: message), in: record) }
    guard let call else { return }
    call.send(message)
    guard !holdsWaiting() else { return }
    let error = RemoteError(.resourceExhausted, "The server holds too many requests that wait.")
    answer.refused(.heldBytes, detail: error.message)
    call.cancel()
    end(error)
  }

  /// Charges the requests that wait to the budget of the connection. Returns false if it is exhausted.
  private func holdsWaiting() -> Bool {
    state.withLock { $0.share.resize(to: $0.call?.waitingBytes ?? 0) }
  }

  func finish() { state.withLock { $0.call }?.finish() }

  func cancel() {
    close(code: answer.status?.code ?? RemoteError.Code.cancelled.rawValue)?.cancel()
  }

  // MARK: From the service

  private func deliver(_ event: ServiceEvent) {
    switch event {
    case .message(let bytes):
      record.sent(bytes.count)
      answer.send(bytes)
      // Releases the memory of requests that were taken.
      _ = holdsWaiting()
    case .ended(let error):
      let isDraining = state.withLock { $0.isDraining }
      end(error ?? (isDraining ? CallRunner.draining : nil))
    }
  }

  private func end(_ error: RemoteError?) {
    // The references that the server holds go, and with the last one the call of the service.
    let call = close(code: error?.code.rawValue ?? 0)
    answer.end(GRPCStatus(error))
    withExtendedLifetime(call) {}
  }

  /// Notes the end. Returns the call if this is the first end.
  private func close(code: Int) -> ServiceCall? {
    let (call, isFirst) = state.withLock { state in
      defer {
        state.isOver = true
        state.call = nil
        _ = state.share.resize(to: 0)
      }
      return (state.call, !state.isOver)
    }
    guard isFirst else { return call }
    runner.streams.remove(self)
    runner.journal.metrics.openStreams.add(-1)
    record.end(code: code)
    return call
  }

  // MARK: Shutting down

  func drain() {
    let call = state.withLock { state in
      state.isDraining = true
      return state.call
    }
    guard let call else { return }
    if method == .write {
      call.finish()
    } else {
      call.cancel()
      end(CallRunner.draining)
    }
  }
}
