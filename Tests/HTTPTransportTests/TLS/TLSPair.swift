// A server and a client of TLS that exchange bytes without sockets.

#if TLS

@testable import HTTPTransport

/// The two sides of one connection. A session is not `Sendable`, and each test uses its pair alone.
final class TLSPair {
  let server: TLSSession
  let client: TLSClientSession
  var serverPlaintext: [UInt8] = []
  var clientPlaintext: [UInt8] = []

  init(
    _ context: TLSContext, _ clientContext: TLSClientContext, host: String = "localhost",
    protocols: [ApplicationProtocol] = [.h2, .http1]
  ) throws {
    server = try context.makeSession()
    client = try TLSClientSession(clientContext, host: host, protocols: protocols)
  }

  /// Creates a pair with the files of the tests, and completes its handshake.
  static func ready(excludesTLS13: Bool = false) throws -> TLSPair {
    let files = TLSFiles.originals
    let pair = try TLSPair(files.context(), files.clientContext(excludesTLS13: excludesTLS13))
    try pair.exchange()
    return pair
  }

  /// Delivers output in both directions until no side has any. `split` cuts output into pieces.
  func exchange(_ split: ([UInt8]) -> [ArraySlice<UInt8>] = { [$0[...]] }) throws {
    while client.hasOutput || server.hasOutput {
      for piece in split(clientOutput()) { try receive(piece) }
      for piece in split(serverOutput()) { try clientReceive(piece) }
    }
  }

  func clientOutput(_ bytesMax: Int = .max) -> [UInt8] {
    var output: [UInt8] = []
    client.moveOutput(to: &output, bytesMax: bytesMax)
    return output
  }

  func serverOutput(_ bytesMax: Int = .max) -> [UInt8] {
    var output: [UInt8] = []
    server.moveOutput(to: &output, bytesMax: bytesMax)
    return output
  }

  func receive(_ bytes: ArraySlice<UInt8>) throws(TLSError) {
    try server.receive(bytes, into: &serverPlaintext)
  }

  func clientReceive(_ bytes: ArraySlice<UInt8>) throws(TLSError) {
    try client.receive(bytes, into: &clientPlaintext)
  }
}

extension TLSSession {
  func receive(_ bytes: ArraySlice<UInt8>, into plaintext: inout [UInt8]) throws(TLSError) {
    // The bytes have their own allocation, so that reading beyond them is detected by the address sanitizer.
    try Array(bytes).withUnsafeBufferPointer { (bytes) throws(TLSError) in
      try receive(UnsafeRawBufferPointer(bytes), into: &plaintext)
    }
  }
}

extension TLSClientSession {
  func receive(_ bytes: ArraySlice<UInt8>, into plaintext: inout [UInt8]) throws(TLSError) {
    try Array(bytes).withUnsafeBufferPointer { (bytes) throws(TLSError) in
      try receive(UnsafeRawBufferPointer(bytes), into: &plaintext)
    }
  }
}

#endif
