// Errors of encrypted connections.

/// The reason why an encrypted connection ends. Output that waits, such as an alert, should still be sent.
package enum TLSError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The client speaks HTTP without encryption.
  case plaintextHTTP
  /// The first bytes are not a handshake.
  case notTLS
  /// The client has announced a larger first message than a client needs.
  case helloSize(Int)
  /// The two sides could not agree, or the peer is not trusted.
  case handshake(String)
  /// A record after the handshake is malformed, or was changed on the way.
  case record(String)
  /// The peer makes the session answer, and does not read the answers.
  case outputLimit
  /// Plaintext was sent before the handshake, or after the end.
  case notOpen
  /// The session could not be created.
  case unavailable(String)

  init(_ reason: String) { self = .unavailable(reason) }

  package var description: String {
    switch self {
    case .plaintextHTTP: "the client speaks HTTP without encryption on a port that needs TLS"
    case .notTLS: "the first bytes of the client are not a TLS handshake"
    case .helloSize(let count): "the client announced a ClientHello of \(count) bytes"
    case .handshake(let reason): "the TLS handshake failed: \(reason)"
    case .record(let reason): "a TLS record was refused: \(reason)"
    case .outputLimit: "the peer does not read what TLS has to send"
    case .notOpen: "the TLS session is not open for sending"
    case .unavailable(let reason): "a TLS session could not be created: \(reason)"
    }
  }
}
