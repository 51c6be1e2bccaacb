// The paths that only an emulator has.
//
//   GET    /                                                           "Ok"
//   DELETE /emulator/v1/projects/P/databases/D/documents               deletes all documents
//   DELETE /emulator/v1/projects/P/databases/D/documents/PATH          deletes a part of them
//   PUT    /emulator/v1/projects/P:securityRules                       501: rules are not evaluated
//   GET    /emulator/v1/projects/P[/databases/D]:ruleCoverage[.html]   501
//
// PATH is a document or a collection. Everything below it is deleted, too, as in Google's emulator.

internal import FirestoreWire
internal import HTTPTransport
internal import OfflineSync

/// Answers requests with the paths of an emulator.
struct EmulatorRequests: Sendable {
  let runner: CallRunner

  func accepts(_ request: HTTPRequest) -> Bool {
    path(request) == "/" || request.target.utf8.starts(with: "/emulator/".utf8)
  }

  private func path(_ request: HTTPRequest) -> Substring { request.target.prefix { $0 != "?" } }

  func begin(
    _ request: HTTPRequest, _ response: HTTPResponse, record: RequestRecord, fields: AnswerFields
  ) -> any HTTPBodyReceiver {
    do throws(RemoteError) {
      let path = path(request)
      if path == "/", request.method == "GET" || request.method == "HEAD" {
        record.end(nil)
        response.answer(200, fields.with(contentType: AnswerFields.text), body: Array("Ok\n".utf8))
        return AnsweredRequest()
      }
      try check(request)
      switch (request.method, path) {
      case ("DELETE", _):
        let part = try DocumentsPart(path)
        // Deletions take time, so they do not run on the loop.
        response.queue.add { delete(part, response, record: record, fields: fields) }
      case ("PUT", _) where path.hasSuffix(":securityRules"): throw Self.noRules
      case ("GET", _) where path.hasSuffix(":ruleCoverage") || path.hasSuffix(":ruleCoverage.html"):
        throw Self.noRules
      default: throw RemoteError(.notFound, "Not Found")
      }
    } catch {
      response.answer(error, fields, record: record)
    }
    return AnsweredRequest(record)
  }

  private func check(_ request: HTTPRequest) throws(RemoteError) {
    do throws(RemoteError) { _ = try runner.credentials.caller(of: request.fields) } catch {
      runner.journal.refused(.credentials, request.connection)
      throw error
    }
    guard !runner.streams.isDraining else {
      runner.journal.metrics.refused(.draining)
      throw CallRunner.draining
    }
  }

  /// Rules that are accepted and not evaluated would let a test pass that has to fail.
  private static let noRules = RemoteError(
    .unimplemented, "This server does not evaluate security rules yet. Every client may read and write.")

  private func delete(
    _ part: DocumentsPart, _ response: HTTPResponse, record: RequestRecord, fields: AnswerFields
  ) {
    do throws(RemoteError) {
      try DocumentDeletion(part, of: try runner.databases.authority(of: part.database)).run()
      record.end(nil)
      response.answer(200, fields.with(contentType: AnswerFields.json), body: Array("{}".utf8))
    } catch {
      response.answer(error, fields, record: record)
    }
  }
}
