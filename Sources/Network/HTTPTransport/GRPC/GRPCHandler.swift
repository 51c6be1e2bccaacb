// The application's side of calls of gRPC.

/// Answers calls.
package protocol GRPCHandler: Sendable {
  /// Begins a call. Called on the loop of the connection, so it must not block. The answer can be given at
  /// once, or later from any thread.
  func begin(_ call: GRPCRequest, _ answer: GRPCAnswer) -> any GRPCReceiver
}

/// Takes the messages of one call. Called on the loop of the connection, so it must not block. No call comes
/// after the end of the answer, or after `cancel`.
package protocol GRPCReceiver: AnyObject, Sendable {
  /// Takes a message.
  func receive(_ message: [UInt8])
  /// Called once when no message follows.
  func finish()
  /// Called once if the call ends before its answer: the client has gone or has reset the call, its deadline
  /// has passed, its body is malformed, or the server is stopping. `GRPCAnswer.status` tells these apart.
  func cancel()
}

/// A call without its messages.
package struct GRPCRequest: Sendable {
  /// The method, as in `/google.firestore.v1.Firestore/Commit`.
  package var method: String
  /// The metadata. Contains other fields of the request, too.
  package var fields: HTTPFields
  package var authority: String
  package var connection: ConnectionInfo
  /// The time after which the transport ends the call; nil if the client has set none.
  package var timeoutNanoseconds: UInt64?

  package init(_ request: HTTPRequest, timeoutNanoseconds: UInt64? = nil) {
    method = request.target
    fields = request.fields
    authority = request.authority
    connection = request.connection
    self.timeoutNanoseconds = timeoutNanoseconds
  }
}
