// Commits outside the queue.

internal import DocumentStore
internal import FirestoreWire
internal import HTTPClient
internal import OfflineSync

/// The answer to a commit with an identity.
struct CommitAnswer {
  let version: SnapshotVersion
  /// Whether the server has taken the identity.
  let isIdentified: Bool
  /// Whether the batch was never applied, and never will be.
  let isClosed: Bool
}

extension RemoteContext {
  /// Commits writes with one request. If the answer is lost, the outcome is unknown, because the server would
  /// apply the writes again. Writes that are too long for a server are not sent.
  func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) {
    let body: [UInt8]
    do throws(RemoteError) { body = try commitBody(mutations) } catch { return answer(.failure(error)) }
    commitCall([], body: body, as: user) { result in
      switch result {
      case .success(let committed): answer(.success(committed.version))
      case .failure(let failure) where failure.isWithoutEffect: answer(.failure(failure.errorOfUnsentCommit))
      case .failure(let failure): answer(.failure(.unanswered(after: failure.error)))
      }
    }.start()
  }

  /// A call with the body of a commit. The caller starts it. With an identity, a server of Dugout applies the
  /// writes once.
  func commitCall(
    _ identity: Wire.WriteIdentity, body: [UInt8], as user: String?,
    _ answer: @escaping (Result<CommitAnswer, CallFailure>) -> Void
  ) throws(RemoteError) -> WebCall {
    let text: String
    do throws(WireError) { text = try WriteLabels.text(identity) } catch { throw RemoteError(error) }
    return commitCall([WebRequest.Field(WriteLabels.write, text)], body: body, as: user, answer)
  }

  private func commitCall(
    _ fields: [WebRequest.Field], body: [UInt8], as user: String?,
    _ answer: @escaping (Result<CommitAnswer, CallFailure>) -> Void
  ) -> WebCall {
    var committed: CommitAnswer?
    let receivers = WebCall.Answer(
      take: { message throws(RemoteError) in
        let response = try RemoteContext.decode(Wire.IdentifiedCommitResponse.self, message)
        committed = CommitAnswer(
          version: SnapshotVersion(response.commitTime), isIdentified: response.isIdentified,
          isClosed: response.isClosed)
      },
      done: { result in
        answer(
          result.flatMap {
            guard let committed else {
              return .failure(CallFailure(error: .unanswered, isWithoutEffect: false))
            }
            return .success(committed)
          })
      })
    return WebCall(
      self, target: head.target(of: "commit", at: database.documentsName), fields: fields, body: body,
      as: user, answer: receivers)
  }

  /// The body of a commit. Throws INVALID_ARGUMENT if it is longer than what any server takes.
  func commitBody(_ mutations: [Mutation]) throws(RemoteError) -> [UInt8] {
    var request = Wire.CommitRequest()
    for mutation in mutations { request.writes.append(try database.wire(mutation)) }
    return try RemoteContext.encode(batch: request)
  }
}

extension RemoteError {
  /// The error for a commit that was not sent. Its code must not be the one of an unknown outcome.
  var unsent: RemoteError {
    code == .deadlineExceeded ? RemoteError(.unavailable, message) : self
  }

  /// The error for a commit with an unknown outcome. `cause` is the error of the last attempt, if it has one.
  static func unanswered(after cause: RemoteError?) -> RemoteError { unanswered.naming(cause) }

  /// This error with the message of its cause.
  func naming(_ cause: RemoteError?) -> RemoteError {
    guard let cause, !cause.message.isEmpty, cause.message != message else { return self }
    return RemoteError(code, "\(message) The last attempt failed: \(cause.message)")
  }
}
