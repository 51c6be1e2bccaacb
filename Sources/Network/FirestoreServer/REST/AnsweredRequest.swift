// Requests whose answers do not depend on their bodies.

internal import FirestoreService
internal import HTTPTransport
internal import OfflineSync

/// Ignores the body of a request that has its answer, or gets it without the body.
final class AnsweredRequest: HTTPBodyReceiver {
  private let record: RequestRecord?

  init(_ record: RequestRecord? = nil) { self.record = record }

  func receive(_ bytes: ArraySlice<UInt8>) {}
  func finish() {}
  func cancel() { record?.end(code: RemoteError.Code.cancelled.rawValue) }
}

extension HTTPResponse {
  /// Sends an error in JSON, and ends the record of the request. The status is that of the error, unless
  /// another one is given.
  func answer(_ error: RemoteError, _ fields: AnswerFields, record: RequestRecord, status: Int? = nil) {
    let answer = status.map { RESTAnswer(error, status: $0) } ?? RESTAnswer(error)
    record.sent(answer.body.count)
    record.end(error)
    self.answer(
      answer.status, fields.with(error, challenge: Credentials.challenge(error)), body: answer.body)
  }
}
