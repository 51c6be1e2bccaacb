// The server's side of one encrypted connection.

#if TLS

internal import CTLS

/// A connection's encryption without its socket. All of it runs on the connection's loop.
///
/// The server answers within `receive` during the handshake, so output may wait after each call.
final class TLSSession {
  private var engine: TLSEngine
  private var hello = ClientHelloGuard()

  init(_ context: OpenSSLContext) throws(TLSError) {
    engine = try unsafe TLSEngine(dugout_tls_accept(context.pointer, TLSEngine.outputBytesMax))
    withExtendedLifetime(context) {}
  }

  /// Takes bytes from the client, and appends their plaintext. After an error, all calls throw the same
  /// error. Output that waits should still be sent, because the client then learns the reason.
  func receive(_ encrypted: UnsafeRawBufferPointer, into plaintext: inout [UInt8]) throws(TLSError) {
    if !engine.isReady, !hello.isDone {
      do {
        try unsafe hello.check(encrypted, isTLS12: isTLS12)
      } catch {
        throw engine.fail(error)
      }
    }
    try unsafe engine.receive(encrypted, into: &plaintext)
  }

  /// Encrypts bytes. The caller takes the output of 64 KiB before it sends more. Throws before the handshake
  /// is complete.
  func send(_ plaintext: [UInt8]) throws(TLSError) { try engine.send(plaintext) }

  /// Moves at most `bytesMax` encrypted bytes to the end of `buffer`.
  func moveOutput(to buffer: inout [UInt8], bytesMax: Int) {
    engine.moveOutput(to: &buffer, bytesMax: bytesMax)
  }

  /// Whether encrypted bytes wait.
  var hasOutput: Bool { engine.outputCount > 0 }

  /// Whether the handshake is complete.
  var isReady: Bool { engine.isReady }

  /// The version of HTTP that the client has asked for. Nil if the client does not use ALPN: it then speaks
  /// HTTP/1.1, or begins with the preface of HTTP/2.
  var applicationProtocol: ApplicationProtocol? { engine.applicationProtocol }

  /// Whether the two sides have agreed on TLS 1.2, and not on a later version.
  var isTLS12: Bool { engine.isTLS12 }

  /// Whether the client has said that it sends no more. If the connection is lost before that, data may be
  /// missing.
  var hasReceivedEnd: Bool { engine.hasReceivedEnd }

  /// Says to the client that no more follows. The client may still send.
  func close() { engine.close() }
}

#else

/// Without the trait TLS, no session can be created, and nothing of this is called.
final class TLSSession {
  private init() {}

  func receive(_ encrypted: UnsafeRawBufferPointer, into plaintext: inout [UInt8]) throws(TLSError) {}
  func send(_ plaintext: [UInt8]) throws(TLSError) {}
  func moveOutput(to buffer: inout [UInt8], bytesMax: Int) {}
  var hasOutput: Bool { false }
  var isReady: Bool { false }
  var applicationProtocol: ApplicationProtocol? { nil }
  var hasReceivedEnd: Bool { false }
  func close() {}
}

#endif
