// The guard refuses ClientHellos that are too large, and looks no further than encryption.

#if TLS

import ByteStore
import CAllocations
import Harness
import Testing

@testable import HTTPTransport

@Suite struct ClientHelloGuardTests {
  private static let changeCipherSpec: [UInt8] = [20, 3, 3, 0, 1, 1]

  /// A record of the handshake.
  private func record(_ payload: [UInt8]) -> [UInt8] {
    [22, 3, 1, UInt8(payload.count >> 8), UInt8(payload.count & 0xff)] + payload
  }

  /// The header of a message.
  private func header(_ type: UInt8, _ count: Int) -> [UInt8] {
    [type, UInt8(count >> 16), UInt8(count >> 8 & 0xff), UInt8(count & 0xff)]
  }

  /// Looks at the bytes in pieces, and returns the error.
  private func check(_ bytes: [UInt8], pieces: Int, isTLS12: Bool = false) -> TLSError? {
    var guardian = ClientHelloGuard()
    do throws(TLSError) {
      for start in stride(from: 0, to: bytes.count, by: pieces) {
        let piece = Array(bytes[start..<min(bytes.count, start + pieces)])
        try piece.withUnsafeBufferPointer { (piece) throws(TLSError) in
          try guardian.check(UnsafeRawBufferPointer(piece), isTLS12: isTLS12)
        }
      }
      return nil
    } catch {
      return error
    }
  }

  @Test func theLargestAllowedSizeIsAcceptedAndOneMoreIsRefused() {
    let most = ClientHelloGuard.helloBytesMax
    for pieces in [1, 2, 3, 5, 7, 9, 10_000] {
      #expect(check(record(header(1, most)), pieces: pieces) == nil)
      #expect(check(record(header(1, most + 1)), pieces: pieces) == .helloSize(most + 1))
      #expect(check(record(header(1, 0xffffff)), pieces: pieces) == .helloSize(0xffffff))
    }
  }

  @Test func aHeaderInSeveralRecordsIsFound() {
    let bytes = header(1, 100_000).flatMap { record([$0]) }
    for pieces in 1...bytes.count { #expect(check(bytes, pieces: pieces) == .helloSize(100_000)) }
    let withEmptyRecords = header(1, 100_000).flatMap { record([]) + record([$0]) }
    #expect(check(withEmptyRecords, pieces: 1000) == .helloSize(100_000))
  }

  /// A server of TLS 1.3 can ask for a second ClientHello.
  @Test func aSecondHelloIsCheckedAlsoAfterAChangeOfCipherWithoutMeaning() {
    let first = record(header(1, 10) + [UInt8](repeating: 0, count: 10))
    let second = record(header(1, 100_000))
    for pieces in 1...first.count {
      #expect(check(first + second, pieces: pieces) == .helloSize(100_000))
      let changed = first + Self.changeCipherSpec + second
      #expect(check(changed, pieces: pieces) == .helloSize(100_000))
      // With TLS 1.2, the rest is encrypted.
      #expect(check(changed, pieces: pieces, isTLS12: true) == nil)
    }
  }

  @Test func theBodyOfAMessageIsNotTakenForAHeader() {
    let body = [UInt8](repeating: 1, count: 5000)
    let bytes =
      record(header(1, 5000) + body[..<1000]) + record(Array(body[..<4000])) + record(header(16, 66))
    for pieces in [1, 999, 1004, 10_000] { #expect(check(bytes, pieces: pieces) == nil) }
  }

  /// The reason for the guard: OpenSSL would take memory for the announced length.
  @Test func aLargeHelloTakesNoMemory() throws {
    guard allocations_are_counted() else { return }
    let session = try TLSFiles.originals.context().makeSession()
    let bytes = record(header(1, 131_000))
    var plaintext: [UInt8] = []
    var error: TLSError?
    let before = allocated_bytes_of_this_thread()
    do { try session.receive(bytes[...], into: &plaintext) } catch let failure { error = failure }
    let allocated = allocated_bytes_of_this_thread() - before
    #expect(error == .helloSize(131_000))
    #expect(allocated < 1000)
  }

  @Test func theHelloOfAClientInManyRecordsIsAccepted() throws {
    let files = TLSFiles.originals
    let pair = try TLSPair(files.context(), files.clientContext())
    let hello = pair.clientOutput()
    for byte in hello[5...] { try pair.receive(record([byte])[...]) }
    try pair.clientReceive(pair.serverOutput()[...])
    try pair.exchange()
    #expect(pair.server.isReady && pair.client.isReady)
  }
}

#endif
