// The application's side of a server.

/// Answers requests.
package protocol HTTPHandler: Sendable {
  /// Begins a request whose fields have arrived. Called on the loop of the connection, so it must not block.
  /// The answer can be given at once, or later from any thread.
  func begin(_ request: HTTPRequest, _ response: HTTPResponse) -> any HTTPBodyReceiver
  /// The fields of the transport's own answer to a request that exceeds a limit, and is never begun. The
  /// request may lack fields.
  func refusalFields(_ request: HTTPRequest) -> HTTPFields
}

extension HTTPHandler {
  package func refusalFields(_ request: HTTPRequest) -> HTTPFields { HTTPFields() }
}

/// Takes the body of one request. Called on the loop of the connection, so it must not block.
package protocol HTTPBodyReceiver: AnyObject, Sendable {
  /// Takes the next bytes of the body.
  func receive(_ bytes: ArraySlice<UInt8>)
  /// Called when the body is complete.
  func finish()
  /// Called if the request ends before its answer is complete: the client has reset it, the connection is
  /// lost, or the server is stopping. No other call follows.
  func cancel()
  /// Whether the client owes the rest of what it has begun to send. It then has to send at a rate.
  var isWithinMessage: Bool { get }
}

extension HTTPBodyReceiver {
  package var isWithinMessage: Bool { true }
}
