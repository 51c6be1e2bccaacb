// The events of a session, and its actions.

internal import FirestoreService

/// Something that happens to a session. Requests of HTTP have numbers, which the caller chooses.
enum ChannelEvent: Sendable {
  /// The body that has opened the session has these requests. Comes once, before all other events.
  case opened([FormBody.Request])
  /// A body with requests has arrived.
  case forward(request: UInt64, [FormBody.Request], acknowledged: UInt64?)
  /// A client wants arrays.
  case backChannel(request: UInt64, acknowledged: UInt64?, BackChannelMode)
  /// The answer of a back channel cannot be continued, because the client or its connection is gone.
  case lost(request: UInt64)
  /// The client has read nearly everything that the back channel sent before `askWhenRead`.
  case read(request: UInt64)
  /// The client ends the session.
  case terminate(request: UInt64)
  /// The call of the service has delivered these events.
  case service([ServiceEvent])
  /// The server shuts down. The call ends after the requests that were passed to it.
  case drain
  /// The server has no memory for the session.
  case drop
  /// Time has passed. Does nothing before the deadline of the session.
  case time
}

/// Something that the caller of a session has to do, in order.
enum ChannelAction: Sendable, Equatable {
  /// Sends the complete answer to a request.
  case answer(request: UInt64, [UInt8])
  /// Answers a request with an error.
  case refuse(request: UInt64, ChannelRefusal)
  /// Begins the answer of a back channel.
  case begin(request: UInt64)
  /// Continues the answer of a back channel.
  case send(request: UInt64, [UInt8])
  /// Reports `read` when the client has read nearly everything that was sent.
  case askWhenRead(request: UInt64)
  /// Ends the answer of a back channel.
  case end(request: UInt64)
  /// Passes a request of the client to the call of the service.
  case pass([UInt8])
  /// Lets the call wait, or continue. Events that it has delivered before may still come.
  case setPaused(Bool)
  /// Cancels the call, because nothing takes its answers any more.
  case cancelCall(ChannelEnd)
  /// Forgets the session. No other action follows, except refusals.
  case forget
}

/// The reason why a session refuses a request.
enum ChannelRefusal: Sendable, Equatable {
  /// The session has ended.
  case unknown
  /// The client acknowledges arrays that it cannot have received, or asks for arrays that it has
  /// acknowledged.
  case acknowledgement
  /// Too many requests would have to wait for earlier ones.
  case earlyRequests
}

/// The reason why the call of a session was cancelled.
enum ChannelEnd: Sendable, Equatable {
  /// The client has ended the session.
  case terminated
  /// The client had no back channel for too long.
  case absent
  /// The server has no memory for the session.
  case dropped
}
