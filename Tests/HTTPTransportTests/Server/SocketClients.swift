// Clients with real sockets, for tests of the server.

#if Server && TLS

import CSockets
import Libc

@testable import HTTPTransport

/// A socket of a client.
final class RawClient {
  struct Refused: Error {}

  private var socket: Int32
  fileprivate var received: [UInt8] = []

  init(_ port: Int) throws {
    socket = dugout_connect("127.0.0.1", Int32(port))
    guard socket >= 0 else { throw Refused() }
  }

  deinit { close() }

  func send(_ bytes: [UInt8]) {
    var start = 0
    while start < bytes.count {
      let count = bytes.withUnsafeBytes { dugout_send(socket, $0.baseAddress! + start, bytes.count - start) }
      guard count > 0 else { return }
      start += count
    }
  }

  /// Receives until the bytes of this text have come. Returns false if the connection ends before.
  func receive(until text: String) -> Bool {
    while !received.contains(text) {
      guard receiveSome() else { return false }
    }
    return true
  }

  func receivesEnd() -> Bool {
    while receiveSome() {}
    return true
  }

  /// Ends the sending side.
  func finish() { shutdown(socket, Int32(SHUT_WR)) }

  func close() {
    guard socket >= 0 else { return }
    Libc.close(socket)
    socket = -1
  }

  fileprivate func receiveSome() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = buffer.withUnsafeMutableBytes { dugout_receive(socket, $0.baseAddress, $0.count) }
    guard count > 0 else { return false }
    received += buffer[..<count]
    return true
  }
}

/// A client's socket with encryption.
final class EncryptedClient {
  private let client: RawClient
  private let session: TLSClientSession
  private var plain: [UInt8] = []

  init(_ port: Int, _ version: ApplicationProtocol) throws {
    client = try RawClient(port)
    let context = try TLSClientContext(trustedFile: TLSFiles.originals.path("root.pem"))
    session = try TLSClientSession(context, host: "localhost", protocols: [version])
    while !session.isReady, try exchange() {}
  }

  var applicationProtocol: ApplicationProtocol? { session.applicationProtocol }

  func send(_ bytes: [UInt8]) throws {
    try session.send(bytes)
    sendOutput()
  }

  func receive(until text: String) throws -> Bool {
    while !plain.contains(text) {
      guard try exchange() else { return false }
    }
    return true
  }

  func close() {
    session.close()
    sendOutput()
    client.close()
  }

  private func sendOutput() {
    var bytes: [UInt8] = []
    session.moveOutput(to: &bytes, bytesMax: .max)
    client.send(bytes)
  }

  private func exchange() throws -> Bool {
    sendOutput()
    client.received = []
    guard client.receiveSome() else { return false }
    let bytes = client.received
    try bytes.withUnsafeBytes { try session.receive($0, into: &plain) }
    return true
  }
}

extension [UInt8] {
  fileprivate func contains(_ text: String) -> Bool {
    let wanted = Array(text.utf8)
    guard count >= wanted.count else { return false }
    return (0...count - wanted.count).contains { self[$0..<$0 + wanted.count].elementsEqual(wanted) }
  }
}

#endif
