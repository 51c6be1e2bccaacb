// The memory that clients can make a server hold.

import HTTPTransport
import Harness
import Testing

@Suite struct HeldMemoryTests {
  private static let mebibyte = 1024 * 1024

  @Test func sharesAreGivenBackAtTheirEnd() {
    let whole = HeldMemory(bytesMax: 4 * Self.mebibyte)
    let part = HeldMemory(bytesMax: 3 * Self.mebibyte, within: whole)
    var share: HeldMemoryShare? = HeldMemoryShare(of: part)
    #expect(share?.resize(to: 2 * Self.mebibyte) == true)
    #expect(part.usedBytes == 2 * Self.mebibyte && whole.usedBytes == 2 * Self.mebibyte)
    #expect(share?.resize(to: 4 * Self.mebibyte) == false, "the part is exhausted")
    #expect(whole.usedBytes == 2 * Self.mebibyte)
    #expect(share?.resize(to: Self.mebibyte) == true && whole.usedBytes == Self.mebibyte)
    share = nil
    #expect(part.usedBytes == 0 && whole.usedBytes == 0)
  }

  @Test func theWholeBoundsItsParts() {
    let whole = HeldMemory(bytesMax: 4 * Self.mebibyte)
    let shares = (0..<2).map { _ in
      HeldMemoryShare(of: HeldMemory(bytesMax: 3 * Self.mebibyte, within: whole))
    }
    #expect(shares[0].resize(to: 3 * Self.mebibyte))
    #expect(!shares[1].resize(to: 2 * Self.mebibyte))
    #expect(shares[1].resize(to: Self.mebibyte))
  }

  @Test func smallSharesRemainWhenLargeOnesHaveTakenAll() {
    let budget = HeldMemory(bytesMax: 4 * Self.mebibyte)
    let large = HeldMemoryShare(of: budget)
    #expect(large.resize(to: 4 * Self.mebibyte))
    #expect(!HeldMemoryShare(of: budget).resize(to: 64 * 1024))
    let small = (0..<20).map { _ in HeldMemoryShare(of: budget) }
    #expect(small.count { $0.resize(to: 63 * 1024) } == 17, "a mebibyte has as many steps of 60 KiB")
    #expect(budget.usedBytes <= 5 * Self.mebibyte)
  }

  #if Server
  @Test func answersThatManyStreamsDoNotReadAreBounded() throws {
    var limits = HTTPLimits()
    limits.heldBytesPerConnectionMax = 4 * Self.mebibyte
    let session = try FrameSession(limits: limits)
    var writer = FrameWriter.opened()
    for stream in 0..<UInt32(10) { writer.request(2 * stream + 1, path: "/later") }
    session.receive(writer.bytes)
    for response in session.recorder.responses {
      response.begin(200)
      response.send([UInt8](repeating: 1, count: Self.mebibyte))
    }
    session.turn()
    #expect(Set(session.refusals.refusals) == [.heldBytes])
    #expect((5...7).contains(session.refusals.refusals.count), "four streams have their mebibyte")
    #expect(session.recorder.records.count { $0.isCancelled } == session.refusals.refusals.count)
  }

  @Test func manyShortAnswersThatAreNotReadAreBounded() throws {
    var limits = HTTPLimits()
    limits.heldBytesPerConnectionMax = Self.mebibyte
    let session = try FrameSession(limits: limits)
    var writer = FrameWriter.opened()
    for stream in 0..<UInt32(100) { writer.request(2 * stream + 1, path: "/later") }
    session.receive(writer.bytes)
    for response in session.recorder.responses {
      response.begin(200)
      response.send([UInt8](repeating: 1, count: 60_000))
    }
    let refused = session.refusals.refusals.count
    #expect(refused >= 70 && session.refusals.refusals.allSatisfy { $0 == .heldBytes })
    for response in session.recorder.responses { response.send([1]) }
    #expect(session.refusals.refusals.count == refused, "an answer is refused once")
  }
  #endif

  @Test func unfinishedMessagesAreBounded() {
    let budget = HeldMemory(bytesMax: 4 * Self.mebibyte)
    let peers = (0..<6).map { _ in CallPeer(RecordedCalls(), budget: budget) }
    // Each message has two mebibytes, and the second one does not arrive.
    let prefix: [UInt8] = [0, 0, 0x20, 0, 0]
    for peer in peers { peer.exchange.receive((prefix + [UInt8](repeating: 1, count: Self.mebibyte))[...]) }
    #expect(peers.map(\.sink.status.code) == [nil, nil, nil, nil, "8", "8"])
    #expect(peers.map(\.sink.refusals) == [[], [], [], [], [.heldBytes], [.heldBytes]])
    #expect(budget.usedBytes == 4 * Self.mebibyte)
    peers[0].exchange.cancel()
    #expect(budget.usedBytes == 3 * Self.mebibyte)
  }
}
