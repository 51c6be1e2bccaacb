// A call with one request.

internal import FirestoreService
internal import HTTPTransport
internal import OfflineSync

/// A unary call, or one with a stream of answers.
final class SingleCall: GRPCReceiver, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: `call` is only used on the loop of the connection.

  private let runner: CallRunner
  private let method: ServerMethod
  private let metadata: CallMetadata
  private let record: RequestRecord
  private let answer: GRPCAnswer
  private var call: ServiceCall?

  init(
    _ runner: CallRunner, _ method: ServerMethod, metadata: CallMetadata, record: RequestRecord,
    answer: GRPCAnswer
  ) {
    self.runner = runner
    self.method = method
    self.metadata = metadata
    self.record = record
    self.answer = answer
  }

  func receive(_ message: [UInt8]) {
    // The call ends with its first request.
    guard call == nil else { return }
    record.received(message.count)
    runner.note(RequestPeek.database(in: message), in: record)
    let call = begin()
    self.call = call
    call.send(message)
    call.finish()
  }

  func finish() {
    guard call == nil else { return }
    let call = begin()
    self.call = call
    call.finish()
  }

  func cancel() {
    call?.cancel()
    record.end(code: answer.status?.code ?? RemoteError.Code.cancelled.rawValue)
  }

  private func begin() -> ServiceCall {
    runner.service.handle(
      method.name, metadata: metadata, format: .protobuf, on: ServiceQueue(of: answer.queue, for: method)
    ) { [answer, record] event in
      switch event {
      case .message(let bytes):
        record.sent(bytes.count)
        answer.send(bytes)
      case .ended(let error):
        record.end(error)
        answer.end(GRPCStatus(error))
      }
    }
  }
}
