// A call outside the streams. The request and the answer can each be lost.

internal import OfflineSync

/// A call outside the streams. It is only accessed on the scheduler of the remote.
final class LoopbackCall<Value: Sendable>: @unchecked Sendable {
  // The conformance is unchecked, because all work runs on the remote's serial scheduler.
  typealias Answer = Result<Value, RemoteError>

  private let remote: LoopbackRemote
  private let body: @Sendable (Authority) throws(RemoteError) -> Value
  private let handler: @Sendable (Answer) -> Void
  /// The error that the caller receives if the answer is lost.
  private let lossOfAnswer: RemoteError
  private var number: Int?
  private var authority: Authority?
  private var hasArrived = false
  private var isOver = false

  init(
    _ remote: LoopbackRemote, lossOfAnswer: RemoteError,
    _ body: @escaping @Sendable (Authority) throws(RemoteError) -> Value,
    _ handler: @escaping @Sendable (Answer) -> Void
  ) {
    self.remote = remote
    self.lossOfAnswer = lossOfAnswer
    self.body = body
    self.handler = handler
  }

  func start(_ number: Int, _ authority: Authority) {
    self.number = number
    self.authority = authority
    send { [self] in take() }
  }

  /// Fails the call because the connection is lost.
  func breakConnection() {
    guard !isOver else { return }
    end()
    let loss = hasArrived ? lossOfAnswer : LoopbackRemote.unreachable
    remote.scheduler.run(after: remote.callLatency()) { [handler] in handler(.failure(loss)) }
  }

  private func take() {
    guard !isOver, let authority else { return }
    let answer = Answer { () throws(RemoteError) in try body(authority) }
    hasArrived = true
    send { [self] in deliver(answer) }
  }

  private func deliver(_ answer: Answer) {
    guard !isOver else { return }
    end()
    handler(answer)
  }

  private func send(_ arrive: @escaping @Sendable () -> Void) {
    guard !remote.losesCall() else {
      remote.note(hasArrived ? "loses the answer to a call" : "loses a call")
      return breakConnection()
    }
    let latency = remote.callLatency()
    remote.note("\(hasArrived ? "is answered" : "calls"), \(latency) µs")
    remote.scheduler.run(after: latency, arrive)
  }

  private func end() {
    isOver = true
    authority = nil
    if let number { remote.forgetCall(number) }
  }
}
