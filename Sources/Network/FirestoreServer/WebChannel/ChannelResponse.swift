// The answer to one request of WebChannel.

internal import FirestoreService
internal import HTTPTransport
internal import OfflineSync

/// Sends arrays or an error.
struct ChannelResponse: Sendable {
  let response: HTTPResponse
  let fields: AnswerFields
  /// Fields that the answer has in addition.
  var additional = HTTPFields()

  /// Proxies must neither keep answers nor hold them back.
  private var all: HTTPFields {
    var all = fields.with(contentType: AnswerFields.text)
    all.append("cache-control", "no-store, no-transform")
    all.append("x-accel-buffering", "no")
    all.append(additional)
    return all
  }

  func answer(_ body: [UInt8]) { response.answer(200, all, body: body) }

  func begin() { response.begin(200, all) }

  /// Sends an error, and counts it as a request of its own. The status is that of the error, unless another
  /// one is given.
  func refuse(_ error: RemoteError, _ request: RefusedRequest, status: Int? = nil) {
    let record = RequestRecord(
      request.journal, request.connection, by: .webChannel, method: request.method)
    response.answer(error, fields, record: record, status: status)
  }
}

/// The surroundings of a request that is refused.
struct RefusedRequest: Sendable {
  let journal: RequestJournal
  let connection: ConnectionInfo
  let method: ServerMethod
}
