// Bytes of clients that do not speak TLS, or attack it.

#if TLS

import ByteStore
import Harness
import Testing

@testable import HTTPTransport

@Suite struct TLSHostileInputTests {
  private let context: TLSContext

  init() throws { context = try TLSFiles.originals.context() }

  private func session() throws -> TLSSession { try context.makeSession() }

  private func receive(_ bytes: [UInt8], by session: TLSSession) throws(TLSError) {
    var plaintext: [UInt8] = []
    try session.receive(bytes[...], into: &plaintext)
  }

  private func output(of session: TLSSession) -> [UInt8] {
    var output: [UInt8] = []
    session.moveOutput(to: &output, bytesMax: .max)
    return output
  }

  // MARK: Not TLS

  @Test(arguments: [
    "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "POST /v1 HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "O",
  ])
  func unencryptedHTTPHasItsOwnError(_ text: String) throws {
    for isWhole in [true, false] {
      let session = try session()
      let bytes = Array(text.utf8)
      #expect(throws: TLSError.plaintextHTTP) {
        try receive(isWhole ? bytes : Array(bytes.prefix(1)), by: session)
      }
      #expect(!session.hasOutput)
      // Later bytes change nothing.
      #expect(throws: TLSError.plaintextHTTP) {
        try receive(ClientHello(version: 0x0303).record, by: session)
      }
      session.close()
      #expect(throws: TLSError.plaintextHTTP) { try session.send([1]) }
    }
  }

  @Test func otherFirstBytesAreNotTLS() throws {
    for first in UInt8.min...UInt8.max where first != 22 && !(65...90).contains(first) {
      let session = try session()
      #expect(throws: TLSError.notTLS) { try receive([first, 3, 1, 0, 5], by: session) }
      #expect(!session.hasOutput)
    }
  }

  @Test func garbageInARecordIsRefused() throws {
    var random = SeededRandom(seed: 1)
    for _ in 0..<500 {
      let session = try session()
      var bytes = (0..<Int.random(in: 0...300, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      bytes = [22, 3, 1, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xff)] + bytes + [0, 0, 0, 0]
      _ = try? receive(bytes, by: session)
      #expect(!session.isReady)
    }
  }

  @Test func changedBytesOfAHandshakeNeverTrap() throws {
    let files = TLSFiles.originals
    let clients = try files.clientContext()
    var random = SeededRandom(seed: 2)
    var failures = 0
    for _ in 0..<1000 {
      let pair = try TLSPair(context, clients)
      let changed = Int.random(in: 0..<1500, using: &random)
      let value = UInt8.random(in: 1...255, using: &random)
      var seen = 0
      do {
        try pair.exchange { flight in
          defer { seen += flight.count }
          guard (seen..<seen + flight.count).contains(changed) else { return [flight[...]] }
          var flight = flight
          flight[changed - seen] ^= value
          return [flight[...]]
        }
      } catch {
        failures += 1
        #expect(!(pair.server.isReady && pair.client.isReady))
      }
    }
    #expect(failures > 500)
  }

  // MARK: Versions

  @Test(arguments: [0x0301 as UInt16, 0x0302])
  func oldVersionsAreRefusedWithAnAlert(_ version: UInt16) throws {
    let session = try session()
    let error = #expect(throws: TLSError.self) {
      try receive(ClientHello(version: version).record, by: session)
    }
    #expect(error == .handshake("unsupported protocol"))
    let alert = output(of: session)
    // Fatal: protocol_version.
    #expect(alert.count == 7 && alert.first == 21 && alert.suffix(2) == [2, 70])
  }

  /// RFC 9113 forbids cipher suites in CBC mode, and those without forward secrecy. The client knows no
  /// other.
  @Test func oldCipherSuitesAreRefusedWithAnAlert() throws {
    let session = try session()
    let error = #expect(throws: TLSError.self) {
      try receive(ClientHello(version: 0x0303).record, by: session)
    }
    #expect(error == .handshake("no shared cipher"))
    #expect(output(of: session).suffix(2) == [2, 40])
  }

  // MARK: Records

  @Test(arguments: [false, true])
  func aChangedByteOfARecordEndsTheSession(_ excludesTLS13: Bool) throws {
    for position in 0..<40 {
      let pair = try TLSPair.ready(excludesTLS13: excludesTLS13)
      try pair.client.send(Array("a message that must arrive whole".utf8))
      var output = pair.clientOutput()
      output[position] ^= 1
      let error: TLSError
      do {
        try pair.receive(output[...])
        // A length that is too large makes the server wait for more.
        try pair.receive([UInt8](repeating: 0, count: 20_000)[...])
        Issue.record("byte \(position) was not checked")
        continue
      } catch let failure { error = failure }
      guard case .record = error else {
        Issue.record("byte \(position): \(error)")
        continue
      }
      #expect(pair.serverPlaintext.isEmpty)
      #expect(pair.server.hasOutput)
      #expect(throws: error) { try pair.receive([]) }
      #expect(throws: error) { try pair.server.send([1]) }
      pair.server.close()
      // The client gets the alert.
      #expect(throws: TLSError.self) { try pair.clientReceive(pair.serverOutput()[...]) }
    }
  }

  @Test(arguments: [false, true])
  func aRepeatedRecordEndsTheSession(_ excludesTLS13: Bool) throws {
    let pair = try TLSPair.ready(excludesTLS13: excludesTLS13)
    try pair.client.send([1, 2, 3])
    let output = pair.clientOutput()
    try pair.receive(output[...])
    #expect(throws: TLSError.self) { try pair.receive(output[...]) }
    #expect(pair.serverPlaintext == [1, 2, 3])
  }

  @Test func theClientRefusesChangedRecords() throws {
    let pair = try TLSPair.ready()
    try pair.server.send([1, 2, 3])
    var output = pair.serverOutput()
    output[output.count - 1] ^= 1
    #expect(throws: TLSError.self) { try pair.clientReceive(output[...]) }
    #expect(pair.clientPlaintext.isEmpty)
  }

  @Test func outputHasALimit() throws {
    let pair = try TLSPair.ready()
    #expect(throws: TLSError.outputLimit) {
      try pair.server.send([UInt8](repeating: 0, count: TLSEngine.outputBytesMax))
    }
    #expect(pair.serverOutput().count <= TLSEngine.outputBytesMax)
  }
}

#endif
