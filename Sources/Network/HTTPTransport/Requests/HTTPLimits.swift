// Limits of connections and requests. docs/server.md lists them.

/// Limits that bound the memory and the time of clients.
package struct HTTPLimits: Sendable {
  package var connectionsMax = 10_000
  /// Connections of one address. Does not count addresses of this machine.
  package var connectionsPerAddressMax = 256
  /// Open requests of an HTTP/2 connection.
  package var streamsMax = 100
  /// Bytes of the request line and all fields.
  package var headerBytesMax = 16 * 1024
  package var headerFieldsMax = 100
  /// Bytes of a message of gRPC, or of the body of a request of REST.
  package var messageBytesMax = 10 * 1024 * 1024 + 64 * 1024
  /// Bytes of any body of HTTP/1.1, as it arrives. A form has up to three for each byte of its content, and
  /// handlers count these.
  package var bodyBytesMax = 3 * (10 * 1024 * 1024 + 64 * 1024)
  /// Unsent bytes of a response after which its queue pauses.
  package var pauseBytes = 64 * 1024
  /// Unsent bytes of a response after which it is reset.
  package var unsentBytesMax = 32 * 1024 * 1024
  /// Bytes of all requests that are not complete, and of all answers that are not sent.
  package var heldBytesMax = 512 * 1024 * 1024
  /// The part of these that one connection may hold.
  package var heldBytesPerConnectionMax = 64 * 1024 * 1024
  package var firstByteSeconds = 10
  package var headerSeconds = 10
  /// A body must arrive at this rate, measured over ten seconds.
  package var bodyBytesPerSecondMin = 1024
  package var idleSeconds = 300
  /// An HTTP/2 client that sends nothing gets a PING after this time.
  package var pingSeconds = 60
  package var pingAnswerSeconds = 20
  /// A response that the client does not read for this time is reset.
  package var unreadSeconds = 60

  /// The time over which the rate of a body is measured.
  static let bodyRateSeconds = 10

  package init() {}
}
