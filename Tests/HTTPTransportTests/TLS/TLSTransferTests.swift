// Plaintext through both sides, and the end of a connection.

#if TLS

import ByteStore
import CAllocations
import Harness
import Testing

@testable import HTTPTransport

@Suite struct TLSTransferTests {
  @Test(arguments: [false, true])
  func plaintextArrivesInBothDirections(_ excludesTLS13: Bool) throws {
    let pair = try TLSPair.ready(excludesTLS13: excludesTLS13)
    for count in [1, 2, 100, 16_383, 16_384, 16_385, 100_000] {
      let sent = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ count) }
      try pair.client.send(sent)
      try pair.exchange()
      #expect(pair.serverPlaintext == sent)
      try pair.server.send(sent.reversed())
      try pair.exchange()
      #expect(pair.clientPlaintext == sent.reversed())
      pair.serverPlaintext = []
      pair.clientPlaintext = []
    }
    try pair.server.send([])
    #expect(!pair.server.hasOutput)
  }

  @Test(arguments: [false, true])
  func everySplitOfRecordsGivesTheSamePlaintext(_ excludesTLS13: Bool) throws {
    let pair = try TLSPair.ready(excludesTLS13: excludesTLS13)
    for position in 0..<200 {
      try pair.client.send(Array("first".utf8))
      try pair.client.send(Array("second".utf8))
      try pair.exchange { output in
        let end = min(position, output.count)
        return [output[..<end], output[end...]]
      }
      #expect(pair.serverPlaintext == Array("firstsecond".utf8), "split after \(position) bytes")
      pair.serverPlaintext = []
    }
  }

  @Test func randomSplitsGiveTheSamePlaintext() throws {
    var random = SeededRandom(seed: 46)
    let pair = try TLSPair.ready()
    for _ in 0..<200 {
      let sent = (0..<Int.random(in: 0...40_000, using: &random)).map { UInt8(truncatingIfNeeded: $0) }
      try pair.client.send(sent)
      try pair.exchange { output in
        var pieces: [ArraySlice<UInt8>] = []
        var start = 0
        while start < output.count {
          let end = min(output.count, start + Int.random(in: 1...20_000, using: &random))
          pieces.append(output[start..<end])
          start = end
        }
        return pieces
      }
      #expect(pair.serverPlaintext == sent)
      pair.serverPlaintext = []
    }
  }

  @Test func outputThatIsTakenInPartsIsComplete() throws {
    let pair = try TLSPair.ready()
    var (sent, output): ([UInt8], [UInt8]) = ([], [])
    for count in 1...200 {
      let message = [UInt8](repeating: UInt8(count), count: count * 10)
      try pair.server.send(message)
      sent += message
      output += pair.serverOutput(count * 9)
    }
    output += pair.serverOutput()
    try pair.clientReceive(output[...])
    #expect(pair.clientPlaintext == sent)
  }

  @Test func plaintextIsAppendedToWhatIsThere() throws {
    let pair = try TLSPair.ready()
    pair.serverPlaintext = [1, 2]
    try pair.client.send([3])
    try pair.exchange()
    #expect(pair.serverPlaintext == [1, 2, 3])
  }

  // MARK: The end

  @Test func sendingBeforeTheHandshakeThrows() throws {
    let files = TLSFiles.originals
    let pair = try TLSPair(files.context(), files.clientContext())
    #expect(throws: TLSError.notOpen) { try pair.server.send([1]) }
    #expect(throws: TLSError.notOpen) { try pair.client.send([1]) }
    // The session is as it was.
    try pair.exchange()
    try pair.server.send([1])
    try pair.exchange()
    #expect(pair.clientPlaintext == [1])
  }

  @Test(arguments: [false, true])
  func closeSaysThatNoMoreFollows(_ excludesTLS13: Bool) throws {
    let pair = try TLSPair.ready(excludesTLS13: excludesTLS13)
    try pair.client.send([1, 2])
    pair.client.close()
    try pair.exchange()
    #expect(pair.serverPlaintext == [1, 2])
    #expect(pair.server.hasReceivedEnd)
    #expect(!pair.client.hasReceivedEnd)
    #expect(throws: TLSError.notOpen) { try pair.client.send([3]) }
    // The other side may still send, and closes after that.
    try pair.server.send([4])
    pair.server.close()
    pair.server.close()
    try pair.exchange()
    #expect(pair.clientPlaintext == [4])
    #expect(pair.client.hasReceivedEnd)
  }

  @Test func bytesAfterTheEndAreIgnored() throws {
    let pair = try TLSPair.ready()
    pair.client.close()
    try pair.exchange()
    try pair.receive([1, 2, 3])
    #expect(pair.server.hasReceivedEnd)
    #expect(pair.serverPlaintext.isEmpty)
  }

  @Test func anEndInTheMiddleOfTheHandshakeIsAnError() throws {
    let files = TLSFiles.originals
    let pair = try TLSPair(files.context(), files.clientContext())
    pair.server.close()
    #expect(!pair.server.hasOutput)
    // An alert without encryption: warning, close_notify.
    #expect(throws: TLSError.self) { try pair.receive([21, 3, 3, 0, 2, 1, 0]) }
    #expect(!pair.server.isReady)
  }

  @Test func aLostConnectionHasNoEnd() throws {
    let pair = try TLSPair.ready()
    try pair.client.send([1, 2])
    let output = pair.clientOutput()
    try pair.receive(output.dropLast()[...])
    #expect(pair.serverPlaintext.isEmpty)
    #expect(!pair.server.hasReceivedEnd)
  }
}

#endif
