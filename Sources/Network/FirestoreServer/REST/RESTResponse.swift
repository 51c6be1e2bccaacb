// The answer to a request of the REST API, which leaves while it is read.
//
//   unary call     the message
//   stream         "[" message ("," message)* "]"
//   error          an object "error". After messages of a stream, one more element of the array

internal import ByteStore
internal import FirestoreService
internal import HTTPTransport
internal import OfflineSync

/// Writes the events of a call. They come one at a time, in blocks of the response's queue.
final class RESTResponse: Sendable {
  private struct State {
    var isStream = false
    var hasBegun = false
    /// The message of a unary call.
    var message: [UInt8]?
  }

  private let response: HTTPResponse
  let record: RequestRecord
  private let fields: AnswerFields
  private let state = Locked(State())

  init(_ response: HTTPResponse, _ record: RequestRecord, fields: AnswerFields) {
    self.response = response
    self.record = record
    self.fields = fields
  }

  var queue: ResponseQueue { response.queue }
  var budget: HeldMemory { response.budget }

  func begin(_ call: RESTCall) { state.withLock { $0.isStream = call.isStream } }

  /// Ends a request that has exceeded a limit. Called on the loop.
  func refuse(_ excess: HeldBody.Excess) {
    response.refused(excess.refusal, detail: excess.error.message)
    response.answer(excess.error, fields, record: record, status: excess.status)
  }

  func deliver(_ event: ServiceEvent) {
    switch event {
    case .message(let bytes): message(bytes)
    case .ended(let error): end(error)
    }
  }

  private func message(_ bytes: [UInt8]) {
    let (isStream, isFirst) = state.withLock { state in
      if !state.isStream { state.message = bytes }
      defer { state.hasBegun = state.isStream }
      return (state.isStream, !state.hasBegun)
    }
    guard isStream else { return }
    if isFirst { response.begin(200, fields.with(contentType: AnswerFields.json)) }
    send(Array(isFirst ? "[".utf8 : ",\n".utf8) + bytes)
  }

  func end(_ error: RemoteError?) {
    let (isStream, hasBegun, message) = state.withLock { ($0.isStream, $0.hasBegun, $0.message) }
    guard hasBegun else {
      if let error { return response.answer(error, fields, record: record) }
      let body = isStream ? Array("[]".utf8) : message ?? Array("{}".utf8)
      record.sent(body.count)
      record.end(nil)
      return response.answer(200, fields.with(contentType: AnswerFields.json), body: body)
    }
    if let error { send(Array(",\n".utf8) + RESTAnswer(error).body) }
    send(Array("]".utf8))
    record.end(error)
    response.end()
  }

  private func send(_ bytes: [UInt8]) {
    record.sent(bytes.count)
    response.send(bytes)
  }
}
