// Commits outside the queue.

internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension RemoteContext {
  /// Commits writes with one request. If the answer is lost, the outcome is unknown, because the server would
  /// apply the writes again. Writes that are too long for a server are not sent.
  func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) {
    var request = Wire.CommitRequest()
    let body: [UInt8]
    do throws(RemoteError) {
      for mutation in mutations { request.writes.append(try database.wire(mutation)) }
      body = try RemoteContext.encode(batch: request)
    } catch {
      return answer(.failure(error))
    }
    var version: SnapshotVersion?
    call(
      "commit", at: database.documentsName, body: body, as: user,
      answer: WebCall.Answer(
        take: { message throws(RemoteError) in
          version = SnapshotVersion(try RemoteContext.decode(Wire.CommitResponse.self, message).commitTime)
        },
        done: { result in
          switch result {
          case .success:
            answer(version.map { .success($0) } ?? .failure(.unanswered))
          case .failure(let failure) where failure.isWithoutEffect: answer(.failure(failure.error.unsent))
          case .failure: answer(.failure(.unanswered))
          }
        }
      ))
  }
}

extension RemoteError {
  /// The error for a commit that was not sent. Its code must not be the one of an unknown outcome.
  var unsent: RemoteError {
    code == .deadlineExceeded ? RemoteError(.unavailable, message) : self
  }
}
