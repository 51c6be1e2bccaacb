// How an app supplies tokens.

/// Returns the token for a request, or nil for requests without one.
///
/// The token is used until the server refuses it, or until the app reports a new one. If the closure throws,
/// the stream or the call fails with UNAUTHENTICATED and a message that names the error. A thrown
/// `RemoteError` is passed on as it is. Streams are opened again later, and ask again.
public typealias FirestoreTokenSource =
  @Sendable (_ request: FirestoreTokenRequest) async throws -> FirestoreToken?

/// The occasion on which a token is asked for.
public struct FirestoreTokenRequest: Sendable, Hashable {
  /// The user whose requests need the token; nil if no user is signed in.
  public var user: String?
  /// The token that the server has refused within the last minute; nil if it has refused none. It is not used
  /// in that time, so the app has to get a new one.
  public var refused: FirestoreToken?

  /// Creates a request, as tests of an app's closure need it.
  public init(user: String?, refused: FirestoreToken? = nil) {
    self.user = user
    self.refused = refused
  }
}

/// Begins to get a token, and returns a way to stop that. `done` is called once, or never.
package typealias TokenFetch =
  @Sendable (
    _ request: FirestoreTokenRequest,
    _ done: @escaping @Sendable (Result<FirestoreToken?, any Error>) -> Void
  ) -> @Sendable () -> Void

/// Gets tokens from the closure of an app, in a task of its own.
func fetch(from source: @escaping FirestoreTokenSource) -> TokenFetch {
  { request, done in
    let task = Task {
      let result: Result<FirestoreToken?, any Error>
      do { result = .success(try await source(request)) } catch { result = .failure(error) }
      done(result)
    }
    return { task.cancel() }
  }
}
