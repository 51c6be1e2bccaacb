// The client's side of encrypted connections.

#if TLS

internal import CTLS

/// The certificates that clients trust. Usable from any thread.
package final class TLSClientContext: Sendable {
  let context: OpenSSLContext

  /// Reads certificates in PEM format. No other certificates are trusted, not even those of the system.
  /// `excludesTLS13` is for tests of the older version.
  package init(trustedFile: String, excludesTLS13: Bool = false) throws(TransportError) {
    let trusted = try PEMFile(trustedFile)
    let pointer = unsafe dugout_tls_client_context(trusted.text, trusted.text.count, excludesTLS13)
    guard let context = unsafe OpenSSLContext(pointer) else {
      throw .certificate(file: trustedFile, reason: OpenSSLContext.errorText())
    }
    self.context = context
  }
}

/// A client's connection without its socket. Its certificate must be trusted and must be for the host.
///
/// The first output is there from the start.
package final class TLSClientSession {
  private var engine: TLSEngine

  /// Begins a connection to a server. `host` is a name or an IP address without a port. Without `protocols`,
  /// the client does not use ALPN.
  package init(
    _ context: TLSClientContext, host: String, protocols: [ApplicationProtocol] = [.h2, .http1]
  ) throws(TLSError) {
    let list = ApplicationProtocol.list(protocols)
    engine = try unsafe TLSEngine(
      dugout_tls_connect(context.context.pointer, host, list, list.count, TLSEngine.outputBytesMax))
    var none: [UInt8] = []
    try unsafe engine.receive(UnsafeRawBufferPointer(start: nil, count: 0), into: &none)
  }

  /// Takes bytes from the server, and appends their plaintext. After an error, all calls throw the same
  /// error.
  package func receive(_ encrypted: UnsafeRawBufferPointer, into plaintext: inout [UInt8]) throws(TLSError) {
    try unsafe engine.receive(encrypted, into: &plaintext)
  }

  /// Encrypts bytes. The caller takes the output of 64 KiB before it sends more. Throws before the handshake
  /// is complete.
  package func send(_ plaintext: [UInt8]) throws(TLSError) { try engine.send(plaintext) }

  /// Moves at most `bytesMax` encrypted bytes to the end of `buffer`.
  package func moveOutput(to buffer: inout [UInt8], bytesMax: Int) {
    engine.moveOutput(to: &buffer, bytesMax: bytesMax)
  }

  /// Whether encrypted bytes wait.
  package var hasOutput: Bool { engine.outputCount > 0 }

  /// Whether the handshake is complete, and the server is trusted.
  package var isReady: Bool { engine.isReady }

  /// The version of HTTP that the server has chosen.
  package var applicationProtocol: ApplicationProtocol? { engine.applicationProtocol }

  /// Whether the server has said that it sends no more.
  package var hasReceivedEnd: Bool { engine.hasReceivedEnd }

  /// Says to the server that no more follows.
  package func close() { engine.close() }
}

#endif
