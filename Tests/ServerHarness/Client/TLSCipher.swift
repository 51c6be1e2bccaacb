// TLS in a client, by the transport's own session.

#if Server && TLS
import HTTPTransport

/// Used on the thread of the client.
final class TLSCipher: ConnectionCipher {
  private static let pieceBytes = 16 * 1024

  private let session: TLSClientSession
  /// Bytes that wait for the end of the handshake.
  private var waiting: [UInt8] = []

  init(_ context: TLSClientContext, protocols: [ApplicationProtocol] = [.h2]) throws {
    session = try TLSClientSession(context, host: "localhost", protocols: protocols)
  }

  var isReady: Bool { session.isReady }
  var hasReceivedEnd: Bool { session.hasReceivedEnd }

  func receive(_ encrypted: ArraySlice<UInt8>) throws -> [UInt8] {
    var plain: [UInt8] = []
    try encrypted.withUnsafeBytes { try session.receive($0, into: &plain) }
    if session.isReady, !waiting.isEmpty {
      let bytes = waiting
      waiting = []
      try send(bytes)
    }
    return plain
  }

  func send(_ plain: [UInt8]) throws {
    guard session.isReady else { return waiting += plain }
    var start = 0
    while start < plain.count {
      let end = min(plain.count, start + Self.pieceBytes)
      try session.send(Array(plain[start..<end]))
      session.moveOutput(to: &output, bytesMax: .max)
      start = end
    }
  }

  private var output: [UInt8] = []

  func takeOutput() -> [UInt8] {
    session.moveOutput(to: &output, bytesMax: .max)
    defer { output = [] }
    return output
  }
}
#endif
