// Counts what a server accepts and refuses.

/// A limit or a rule that a client has not kept.
package enum Refusal: String, Sendable, CaseIterable {
  case connections = "connections"
  case connectionsPerAddress = "connections_per_address"
  case descriptors = "descriptors"
  case firstByteTimeout = "first_byte_timeout"
  case headerTimeout = "header_timeout"
  case bodyRate = "body_rate"
  case idle = "idle"
  case unread = "unread"
  case headerSize = "header_size"
  case messageSize = "message_size"
  case streams = "streams"
  case heldBytes = "held_bytes"
  case resetFlood = "reset_flood"
  case pingFlood = "ping_flood"
  case frameFlood = "frame_flood"
  case pingTimeout = "ping_timeout"
  case malformed = "malformed"
  case tlsHandshake = "tls_handshake"
  case deadline = "deadline"
}

/// Hears of connections. Called on loops, so it must not block.
package protocol TransportObserver: Sendable {
  func connectionOpened(_ connection: ConnectionInfo)
  func connectionClosed(_ connection: ConnectionInfo)
  /// A connection or a request was refused.
  func refused(_ refusal: Refusal, _ connection: ConnectionInfo, detail: String)
}
