// Clients that are slow, greedy or gone, and the end of connections.

import ByteStore
import HTTPTransport
import Harness
import Testing

@Suite struct HTTP1LimitTests {
  private static let get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
  private static let post = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n"

  // MARK: Backpressure

  @Test func theQueueOfAResponsePausesUntilTheClientHasRead() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(Self.get)
    let (response, loop) = (handler.responses[0], peer.loop)
    response.begin(200)
    let ran = Locked(0)
    for _ in 0..<8 {
      response.queue.add {
        ran.withLock { $0 += 1 }
        response.send([UInt8](repeating: 1, count: 20_000))
        // The loop takes the bytes while the thread of the pool goes on.
        loop.run()
      }
    }
    peer.pool.runBlocks(beside: loop)
    #expect(ran.withLock { $0 } == 4, "the fourth block exceeds the limit")
    peer.take(bytesMax: 40_000)
    peer.pool.runBlocks(beside: loop)
    #expect(ran.withLock { $0 } == 4, "more than half of the limit is unsent")
    peer.take(bytesMax: 10_000)
    peer.pool.runBlocks(beside: loop)
    #expect(ran.withLock { $0 } == 6)
    peer.take()
    peer.pool.runBlocks(beside: loop)
    #expect(ran.withLock { $0 } == 8)
  }

  @Test func aResponseThatIsNotReadIsResetAtTheLimit() {
    var limits = HTTPLimits()
    limits.unsentBytesMax = 100_000
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler, limits)
    peer.send(Self.get)
    let response = handler.responses[0]
    response.begin(200)
    for _ in 0..<10 { response.send([UInt8](repeating: 1, count: 10_000)) }
    #expect(handler.cancelCount == 0)
    response.send([1])
    #expect(handler.cancelCount == 1)
    #expect(peer.session.isFinished)
    #expect(!peer.session.hasOutput)
    #expect(peer.observer.refusals == [.unread])
    response.send([1])
    peer.session.close()
    #expect(handler.cancelCount == 1)
  }

  @Test func aSingleLargeBodyIsSentAlthoughItIsAboveTheLimit() {
    var limits = HTTPLimits()
    limits.unsentBytesMax = 1000
    let handler = ScriptedHandler { _, response in
      response.answer(200, HTTPFields(), body: [UInt8](repeating: 7, count: 5000))
    }
    let peer = SessionPeer(handler, limits)
    peer.send(Self.get)
    peer.takeAll()
    #expect(peer.output.suffix(5000).allSatisfy { $0 == 7 })
    #expect(peer.error == nil)
  }

  @Test func aClientThatDoesNotReadGetsNoFurtherRequestAnswered() {
    let handler = ScriptedHandler { _, response in
      response.answer(200, HTTPFields(), body: [UInt8](repeating: 7, count: 40_000))
    }
    let peer = SessionPeer(handler)
    peer.send(String(repeating: Self.get, count: 10))
    #expect(handler.responses.count == 2)
    peer.takeAll()
    #expect(handler.responses.count == 10)
  }

  @Test func whatWaitsBehindARequestIsBounded() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(Self.get)
    #expect(peer.session.wantsInput)
    peer.send([UInt8](repeating: UInt8(ascii: "G"), count: 64 * 1024))
    #expect(!peer.session.wantsInput)
    #expect(peer.error == nil)
    for _ in 0..<3 { peer.send([UInt8](repeating: UInt8(ascii: "G"), count: 64 * 1024)) }
    #expect(peer.error == nil)
    peer.send([0])
    #expect(peer.error?.refusal == .malformed)
    #expect(handler.cancelCount == 1)
    peer.takeAll()
    #expect(peer.text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
  }

  @Test func whatWaitsCountsAsHeldMemory() {
    var limits = HTTPLimits()
    limits.heldBytesPerConnectionMax = 100_000
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler, limits)
    peer.send(Self.get)
    peer.send([UInt8](repeating: UInt8(ascii: "G"), count: 64 * 1024))
    #expect(peer.error == nil)
    peer.send([UInt8](repeating: UInt8(ascii: "G"), count: 64 * 1024))
    #expect(peer.error?.refusal == .heldBytes)
    #expect(handler.cancelCount == 1 && peer.session.isFinished)
  }

  @Test func aClientWithManyRequestsLeavesTheTurnToOthers() {
    let handler = ScriptedHandler { _, response in response.answer(200, HTTPFields(), body: [1]) }
    let peer = SessionPeer(handler)
    peer.send(String(repeating: Self.get, count: 100))
    #expect(handler.responses.count == 32)
    peer.takeAll()
    #expect(handler.responses.count == 100)
  }

  @Test func bytesThatWaitAreParsedWhenTheResponseEnds() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    peer.send(Self.get)
    peer.send(Array(Self.post.utf8) + body.prefix(100_000))
    #expect(handler.responses.count == 1)
    handler.responses[0].answer(200, HTTPFields(), body: [])
    #expect(handler.responses.count == 2)
    peer.send(body.dropFirst(100_000))
    #expect(handler.events.suffix(2) == [.body(body), .finish])
  }

  // MARK: Times

  @Test func aHeadThatDoesNotArriveInTimeIsAnswered() {
    let peer = SessionPeer(ScriptedHandler())
    peer.wait(seconds: 100)
    #expect(peer.error == nil, "nothing has been sent")
    peer.send("GET / HT")
    peer.wait(seconds: 9)
    peer.send("T")
    #expect(peer.error == nil)
    peer.wait(seconds: 1)
    #expect(peer.error?.refusal == .headerTimeout)
    peer.takeAll()
    #expect(peer.text.hasPrefix("HTTP/1.1 408 Request Timeout\r\n"))
    #expect(peer.text.contains("connection: close"))
    #expect(peer.session.isFinished)
  }

  @Test func theTimeOfAHeadBeginsWithItsFirstByteAlsoBehindAnotherRequest() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(Self.get + "GET")
    peer.wait(seconds: 100)
    #expect(peer.error == nil)
    handler.responses[0].answer(200, HTTPFields(), body: [])
    peer.wait(seconds: 9)
    #expect(peer.error == nil)
    peer.wait(seconds: 1)
    #expect(peer.error?.refusal == .headerTimeout)
  }

  @Test func aBodyThatIsTooSlowIsRefused() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(Self.post)
    for _ in 0..<30 {
      peer.wait(seconds: 1)
      peer.send([UInt8](repeating: 1, count: 1100))
    }
    #expect(peer.error == nil)
    for _ in 0..<30 {
      peer.wait(seconds: 1)
      peer.send([1])
    }
    #expect(peer.error?.refusal == .bodyRate)
    #expect(handler.cancelCount == 1)
    peer.takeAll()
    #expect(peer.text.hasPrefix("HTTP/1.1 408 Request Timeout\r\n"))
  }

  @Test func aResponseMayTakeItsTime() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(Self.get)
    peer.wait(seconds: 1000)
    #expect(peer.error == nil)
    #expect(handler.cancelCount == 0)
  }

  // MARK: Sizes

  @Test func aChunkedBodyAboveTheLimitIsRefusedAndCancelled() {
    var limits = HTTPLimits()
    limits.bodyBytesMax = 1000
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler, limits)
    peer.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3e0\r\n")
    peer.send([UInt8](repeating: 1, count: 992))
    peer.send("\r\n8\r\n12345678\r\n")
    #expect(peer.error == nil)
    peer.send("1\r\n")
    #expect(peer.error?.refusal == .messageSize)
    #expect(handler.cancelCount == 1)
    peer.takeAll()
    #expect(peer.text.hasPrefix("HTTP/1.1 413 Content Too Large\r\n"))
  }

  /// The handler chooses the fields by which a page may see the answer.
  @Test(arguments: [
    "Host: h\r\nOrigin: http://a\r\nContent-Length: 1001\r\n\r\n",
    "Host: h\r\nContent-Length: 99999999999999999999\r\nOrigin: http://a\r\n\r\n",
    "Host: h\r\nOrigin: http://a\r\nx: " + String(repeating: "x", count: 17_000),
    String(repeating: "x: y\r\n", count: 100) + "Host: h\r\nOrigin: http://a\r\n\r\n",
  ])
  func aRefusalHasTheFieldsOfTheHandler(fields: String) {
    var limits = HTTPLimits()
    limits.bodyBytesMax = 1000
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler, limits)
    peer.send("POST http://h/a HTTP/1.1\r\n" + fields)
    peer.takeAll()
    #expect(peer.text.hasPrefix("HTTP/1.1 4"))
    #expect(peer.text.contains("\r\nx-refused: POST h http://a\r\n"))
    #expect(handler.events.isEmpty)
  }

  @Test(arguments: ["1;", "0\r\nx: "])
  func extensionsAndTrailersAreBounded(start: String) {
    let peer = SessionPeer(ScriptedHandler())
    peer.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + start)
    peer.send([UInt8](repeating: UInt8(ascii: "x"), count: 16 * 1024 - 3))
    #expect(peer.error == nil)
    peer.send("xxxx")
    #expect(peer.error?.refusal == .headerSize)
  }

  @Test func anErrorAfterTheBeginningOfTheResponseOnlyEndsTheConnection() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
    handler.responses[0].begin(200)
    peer.takeAll()
    peer.send("x")
    peer.takeAll()
    #expect(peer.text == "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    #expect(peer.session.isFinished)
    #expect(handler.cancelCount == 1)
  }

  @Test func anErrorInARequestOfHEADHasNoBody() {
    let peer = SessionPeer(ScriptedHandler())
    peer.send("HEAD / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx")
    peer.takeAll()
    #expect(peer.text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
    #expect(peer.text.hasSuffix("connection: close\r\n\r\n"))
  }

  // MARK: The end

  @Test func aLostConnectionCancelsTheRequestOnce() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(Self.post + "abc")
    handler.responses[0].begin(200)
    let ran = Locked(false)
    handler.responses[0].queue.add { ran.withLock { $0 = true } }
    peer.session.close()
    peer.session.close()
    peer.session.receiveEnd()
    #expect(handler.cancelCount == 1)
    #expect(!peer.session.hasOutput)
    peer.pool.runBlocks(beside: peer.loop)
    #expect(!ran.withLock { $0 }, "blocks of a lost response are dropped")
    handler.responses[0].end()
    #expect(!peer.session.hasOutput)
  }

  @Test func aLostConnectionDoesNotCancelWhatIsAnswered() {
    let handler = ScriptedHandler { _, response in response.answer(200, HTTPFields(), body: []) }
    let peer = SessionPeer(handler)
    peer.send(Self.get)
    peer.send(Self.post + "abc")
    peer.session.close()
    #expect(handler.cancelCount == 0)
  }

  @Test func anAbortedResponseIsVisiblyIncomplete() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(Self.get + Self.get)
    handler.responses[0].begin(200)
    handler.responses[0].send([0x61])
    peer.takeAll()
    handler.responses[0].abort()
    peer.takeAll()
    #expect(peer.text.hasSuffix("\r\n\r\n1\r\na\r\n"))
    #expect(peer.session.isFinished)
    #expect(handler.cancelCount == 0)
    #expect(handler.responses.count == 1)
  }

  @Test func aClientThatClosesItsSideGetsItsResponses() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(Self.get + Self.get)
    peer.session.receiveEnd()
    for number in 0..<2 {
      #expect(!peer.session.isFinished)
      handler.responses[number].answer(200, HTTPFields(), body: [])
    }
    peer.takeAll()
    #expect(peer.text.split(separator: "HTTP/1.1 200 OK").count == 2)
    #expect(peer.session.isFinished)
  }

  @Test(arguments: ["", "GET / HT", post + "abc"])
  func aClientThatClosesItsSideWithinARequestIsDone(text: String) {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(text)
    peer.session.receiveEnd()
    #expect(peer.session.isFinished)
    #expect(handler.cancelCount == (text.hasPrefix("POST") ? 1 : 0))
    peer.takeAll()
    #expect(peer.text.isEmpty)
  }

  @Test func aRequestThatWaitsIncompleteIsDroppedWhenTheClientHasClosedItsSide() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(Self.get + Self.post + "abc")
    peer.session.receiveEnd()
    handler.responses[0].answer(200, HTTPFields(), body: [])
    #expect(peer.session.isFinished)
    #expect(handler.cancelCount == 1)
  }

  // MARK: Draining

  @Test func aDrainedConnectionWithoutARequestEnds() {
    let peer = SessionPeer(ScriptedHandler())
    peer.send("GET /")
    peer.session.drain()
    #expect(peer.session.isFinished)
  }

  @Test(arguments: [false, true])
  func aDrainedConnectionEndsAfterTheOpenResponse(hasBegun: Bool) {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(Self.get + Self.get)
    if hasBegun {
      handler.responses[0].begin(200)
      peer.takeAll()
    }
    peer.session.drain()
    #expect(!peer.session.isFinished)
    if hasBegun {
      handler.responses[0].send([0x61])
      handler.responses[0].end()
    } else {
      handler.responses[0].answer(200, HTTPFields(), body: [0x61])
    }
    peer.takeAll()
    #expect(peer.text.contains("connection: close") == !hasBegun)
    #expect(peer.text.hasSuffix(hasBegun ? "1\r\na\r\n0\r\n\r\n" : "\r\n\r\na"))
    #expect(peer.session.isFinished)
    #expect(handler.responses.count == 1)
    #expect(handler.cancelCount == 0)
  }

  @Test func aSessionIsReleasedWhileItsHandlersKeepTheResponse() {
    let handler = ScriptedHandler()
    weak var session: HTTP1Session?
    do {
      let peer = SessionPeer(handler)
      peer.send(Self.get)
      session = peer.session
      peer.session.close()
    }
    #expect(session == nil)
    handler.responses[0].answer(200, HTTPFields(), body: [])
  }
}
