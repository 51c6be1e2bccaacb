// The admin listener: whether the server lives, whether it is ready, and what it has counted.

internal import FirestoreService
internal import HTTPTransport
internal import OfflineSync

/// Answers the requests of the admin listener. It wants no credentials, because it shows no documents.
struct AdminRequests: Sendable {
  let runner: CallRunner

  func begin(_ request: HTTPRequest, _ response: HTTPResponse, origin: String?) -> any HTTPBodyReceiver {
    let journal = runner.journal
    let fields = AnswerFields(origin: origin, requestID: journal.text(ofID: journal.nextID()))
    switch (request.method, request.target.prefix { $0 != "?" }) {
    case ("GET", "/healthz"), ("HEAD", "/healthz"):
      response.answer(200, fields.with(contentType: AnswerFields.text), body: Array("ok\n".utf8))
    case ("GET", "/readyz"), ("HEAD", "/readyz"):
      let readiness = Readiness(runner)
      response.answer(
        readiness.isReady ? 200 : 503, fields.with(contentType: AnswerFields.text),
        body: Array(readiness.text.utf8))
    case ("GET", "/metrics"), ("HEAD", "/metrics"):
      response.queue.add { [runner] in
        let text = MetricsText(runner).text
        response.answer(200, fields.with(contentType: MetricsText.contentType), body: Array(text.utf8))
      }
    default:
      let answer = RESTAnswer(RemoteError(.notFound, "Not Found"))
      response.answer(answer.status, fields.with(contentType: AnswerFields.json), body: answer.body)
    }
    return AnsweredRequest()
  }
}
