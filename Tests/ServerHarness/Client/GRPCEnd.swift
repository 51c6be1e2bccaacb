// How calls end, as a client sees it.

#if Server
/// The end of a call.
package struct GRPCEnd: Error, Sendable, Equatable, CustomStringConvertible {
  /// The cause of the end.
  package enum Origin: Sendable, Equatable {
    /// The server, with a status.
    case status
    /// The server, with a response of HTTP that has no status of gRPC.
    case http(Int)
    /// The server, which has reset the stream with this code of HTTP/2.
    case reset(UInt32)
    /// The server has never begun the call: its connection was draining.
    case notBegun
    /// The connection was lost.
    case connection
    /// This client, because of its deadline or its `cancel`.
    case client
  }

  /// The code of gRPC; 0 is success.
  package var code: Int
  package var message: String
  package var origin: Origin

  package init(code: Int, message: String, origin: Origin) {
    self.code = code
    self.message = message
    self.origin = origin
  }

  package var isOK: Bool { code == 0 }

  package var description: String { "code \(code), \(message) (\(origin))" }
}

/// The answer to a unary call.
package struct GRPCReply: Sendable {
  /// All messages of the answer. A successful unary call has one.
  package var messages: [[UInt8]]
  package var end: GRPCEnd

  package init(messages: [[UInt8]], end: GRPCEnd) {
    self.messages = messages
    self.end = end
  }
}

/// An event of a stream: messages come first, and then the end.
package enum GRPCEvent: Sendable {
  case message([UInt8])
  case end(GRPCEnd)
}

/// The reason why a client cannot be used.
package struct GRPCClientError: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
#endif
