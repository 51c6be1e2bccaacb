// The certificate and the key of a server, which can be replaced while it runs.

#if TLS

internal import ByteStore
internal import CTLS

/// The certificate and the key of encrypted listeners. Usable from any thread, but creation and `reload` read
/// files, so loops must not call them.
package final class TLSContext: Sendable {
  private struct State {
    var context: OpenSSLContext
    var warnings: [String]
  }

  private let certificateFile: String
  private let keyFile: String
  private let state: Locked<State>

  /// Reads the files, which are in PEM format. The first file has the server's certificate, followed by those
  /// of its issuers, except for the root.
  package init(certificateFile: String, keyFile: String) throws(TransportError) {
    self.certificateFile = certificateFile
    self.keyFile = keyFile
    state = Locked(try Self.read(certificateFile, keyFile))
  }

  /// Reads the files again, for connections that come later. If they cannot be used, the old certificate and
  /// key stay in use, and the error names the file.
  package func reload() throws(TransportError) {
    let new = try Self.read(certificateFile, keyFile)
    // The old context is released outside of the lock.
    let old = state.withLock { state in
      let old = state
      state = new
      return old
    }
    withExtendedLifetime(old) {}
  }

  /// Sentences about files that can be used, but deserve attention. Each begins with the name of a file.
  package var warnings: [String] { state.withLock { $0.warnings } }

  /// Creates the session of a new connection.
  func makeSession() throws(TLSError) -> TLSSession { try TLSSession(state.withLock { $0.context }) }

  private static func read(_ certificateFile: String, _ keyFile: String) throws(TransportError) -> State {
    let certificate = try PEMFile(certificateFile)
    let key = try PEMFile(keyFile)
    guard let context = unsafe OpenSSLContext(dugout_tls_server_context()) else {
      throw .certificate(file: certificateFile, reason: OpenSSLContext.errorText())
    }
    guard unsafe dugout_tls_use_chain(context.pointer, certificate.text, certificate.text.count) else {
      throw .certificate(file: certificateFile, reason: OpenSSLContext.errorText())
    }
    guard unsafe dugout_tls_use_key(context.pointer, key.text, key.text.count) else {
      throw .certificate(file: keyFile, reason: OpenSSLContext.errorText())
    }
    var warnings: [String] = []
    if key.isOpenToOthers {
      warnings.append("\(keyFile): all users of this machine may read or change the private key")
    }
    switch unsafe dugout_tls_expiry(context.pointer) {
    case 0: break
    case 1: warnings.append("\(certificateFile): the certificate has expired")
    default: warnings.append("\(certificateFile): the certificate is not valid yet")
    }
    return State(context: context, warnings: warnings)
  }
}

#else

/// Without the trait TLS, no context can be created.
package final class TLSContext: Sendable {
  package init(certificateFile: String, keyFile: String) throws(TransportError) { throw .missingTrait("TLS") }
  package func reload() throws(TransportError) {}
  package var warnings: [String] { [] }
  func makeSession() throws(TLSError) -> TLSSession { throw TLSError("this program has no TLS") }
}

#endif
