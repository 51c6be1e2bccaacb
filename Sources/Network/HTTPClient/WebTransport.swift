// Requests of HTTP and their answers, without a way to send them.

/// Sends requests to one host. Usable from any thread.
package protocol WebTransport: Sendable {
  /// Begins a request. The handler receives its events serially, on any thread, but never from within this
  /// call. `ended` is the last one.
  func begin(
    _ request: WebRequest, _ handler: @escaping @Sendable (WebEvent) -> Void
  ) -> any WebExchange

  /// Makes new connections for the requests from here on. Requests that have begun keep theirs. Called when
  /// the device's network has changed, because connections of before may be lost without a sign.
  func renewConnections()
}

extension WebTransport {
  package func renewConnections() {}
}

/// A request that has begun.
package protocol WebExchange: Sendable {
  /// Ends the request. At most one more event, which has begun before, reaches the handler.
  func cancel()

  /// Reports that the receiver has processed the bytes of one event. Called once for each event of bytes,
  /// from any thread. A transport may stop to read an answer while 1 MiB of it is delivered and not taken.
  /// The rest and the end come later. Does nothing by default.
  func taken(_ byteCount: Int)
}

extension WebExchange {
  package func taken(_ byteCount: Int) {}
}

/// A request of HTTP.
package struct WebRequest: Sendable, Equatable {
  package var method: String
  /// The path and the query, percent-encoded.
  package var target: String
  package var fields: [Field] = []
  /// The body; nil for a request without one.
  package var body: [UInt8]?
  /// The time without a byte after which the request fails, in seconds.
  package var silenceSeconds: Double = 60

  package struct Field: Sendable, Equatable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  package init(_ method: String, _ target: String) {
    self.method = method
    self.target = target
  }
}

/// An event of a request.
package enum WebEvent: Sendable, Equatable {
  /// The answer has begun. Names of fields are in lower case.
  case head(status: Int, fields: [String: String])
  /// The next bytes of the answer.
  case bytes([UInt8])
  /// The answer is complete, or has failed.
  case ended(WebFailure?)
}

/// The reason why a request has no complete answer.
package struct WebFailure: Error, Sendable, Equatable {
  /// Whether the host was not reached, so that the request had no effect. False also if that is not known.
  package var isUnsent = false
  /// The system's description.
  package var message: String

  package init(_ message: String, isUnsent: Bool = false) {
    self.message = message
    self.isUnsent = isUnsent
  }
}
