// The ways in which a client of WebChannel can behave.

#if Server
/// The options of a session.
package struct ChannelClientOptions: Sendable {
  /// `Listen` or `Write`.
  package var method: String
  package var database: String
  /// The list of fields that the first request has in its body.
  package var headers: [(name: String, value: String)] = [("Authorization", "Bearer owner")]
  /// Whether each answer of the back channel ends after what there is.
  package var polls = false
  /// Whether the client changes to polling if a back channel brings nothing at first.
  package var detectsBuffering = true
  /// The client sends a request again if its answer takes longer.
  package var answerMilliseconds = 10_000
  /// A back channel counts as dead if nothing arrives for this time, although there is something.
  package var silenceMilliseconds = 10_000
  /// The time before a lost request is sent again.
  package var retryMilliseconds = 10
  /// A client ends its session after this number of attempts of one request.
  package var attemptsMax = 3
  /// The limit of an answer while polling, which the server is told.
  package var pollMilliseconds: Int?
  /// The seed of everything that a browser chooses at random.
  package var seed: UInt64 = 1

  package init(method: String, database: String) {
    self.method = method
    self.database = database
  }
}

/// The end of a session, as its client sees it.
package enum ChannelClientEnd: Sendable, Equatable, CustomStringConvertible {
  /// The service has ended the call.
  case closed
  case error(status: String, message: String)
  /// The client has ended the session.
  case terminated
  /// The server refuses a request.
  case refused(status: Int, body: String)
  /// The client has sent a request too often without an answer.
  case unreachable
  /// The server has violated the protocol.
  case violation(String)

  /// Whether a server that is drained or opened again may cause this end.
  var isOfRestart: Bool {
    switch self {
    case .error(let status, _): status == "UNAVAILABLE"
    case .refused(let status, _): status == 400 || status == 503
    case .unreachable: true
    case .closed, .terminated, .violation: false
    }
  }

  package var description: String {
    switch self {
    case .closed: "the call has ended"
    case .error(let status, let message): "the call has ended with \(status): \(message)"
    case .terminated: "the client has ended the session"
    case .refused(let status, let body): "a request was refused with \(status): \(body)"
    case .unreachable: "the server does not answer"
    case .violation(let text): text
    }
  }
}

/// The number of requests and arrays of a session.
package struct ChannelCounts: Sendable {
  package var opens = 0
  package var forwardRequests = 0
  package var repeatedRequests = 0
  package var backChannels = 0
  package var lostBackChannels = 0
  package var arrays = 0
  package var repeatedArrays = 0
  package var noops = 0
  package var deadBackChannels = 0
  package var bufferedBackChannels = 0
  package var missingBackChannels = 0

  package init() {}

  package mutating func add(_ other: ChannelCounts) {
    for (_, path) in Self.paths { self[keyPath: path] += other[keyPath: path] }
  }

  /// The counts by name.
  package var details: [(name: String, value: Int)] { Self.paths.map { ($0.name, self[keyPath: $0.path]) } }

  private static var paths: [(name: String, path: WritableKeyPath<ChannelCounts, Int>)] {
    [
      ("opens", \.opens), ("forwardRequests", \.forwardRequests), ("repeatedRequests", \.repeatedRequests),
      ("backChannels", \.backChannels), ("lostBackChannels", \.lostBackChannels), ("arrays", \.arrays),
      ("repeatedArrays", \.repeatedArrays), ("noops", \.noops), ("deadBackChannels", \.deadBackChannels),
      ("bufferedBackChannels", \.bufferedBackChannels), ("missingBackChannels", \.missingBackChannels),
    ]
  }
}
#endif
