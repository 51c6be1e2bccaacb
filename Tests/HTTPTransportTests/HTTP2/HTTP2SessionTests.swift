// Tests of HTTP/2: frames in, calls of handlers and frames out.

#if Server
import ByteStore
import HTTPTransport
import Harness
import Testing

@Suite struct HTTP2SessionTests {
  private let data = FrameWriter.Kind.data.rawValue
  private let headers = FrameWriter.Kind.headers.rawValue
  private let reset = FrameWriter.Kind.reset.rawValue
  private let goAway = FrameWriter.Kind.goAway.rawValue

  @Test func aRequestReachesItsHandlerAndIsAnswered() throws {
    let session = try FrameSession()
    var writer = FrameWriter.opened()
    writer.request(1, path: "/now", fields: [("x", "y")], endsStream: false)
    writer.data(1, [1, 2, 3])
    session.receive(writer.bytes)
    let record = try #require(session.recorder.records.first)
    #expect(record.method == "POST" && record.target == "/now" && record.authority == "localhost")
    #expect(record.body == [1, 2, 3] && record.isFinished && !record.isCancelled)
    let frames = try answer(session, stream: 1)
    #expect(frames.map(\.kind) == [headers, data, headers])
    #expect(frames[1].payload == Array("answer".utf8))
    #expect(frames.map(\.endsStream) == [false, false, true])
    #expect(session.session.openRequests == 0)
  }

  @Test func anAnswerWithoutABodyIsOneFrame() throws {
    let session = try opened("/later")
    let response = try #require(session.recorder.responses.first)
    response.begin(200, HTTPFields(["content-type": "application/grpc"]))
    response.end(HTTPFields(["grpc-status": "5"]))
    session.turn()
    let frames = try answer(session, stream: 1)
    #expect(frames.map(\.kind) == [headers] && frames[0].endsStream)
  }

  @Test func fieldsLeaveBeforeTheFirstMessageOfAStream() throws {
    let session = try opened("/later")
    try #require(session.recorder.responses.first).begin(200)
    session.turn()
    #expect(try answer(session, stream: 1).map(\.kind) == [headers])
  }

  @Test func aResetCancelsTheRequest() throws {
    let session = try opened("/later", endsStream: false)
    var writer = FrameWriter()
    writer.frame(.reset, stream: 1, payload: FrameWriter.number(8, byteCount: 4))
    session.receive(writer.bytes)
    let record = try #require(session.recorder.records.first)
    #expect(record.isCancelled && !record.isFinished)
    try #require(session.recorder.responses.first).send([1])
    session.turn()
    #expect(session.error == nil)
  }

  @Test func theEndOfTheConnectionCancelsOpenRequestsOnly() throws {
    let session = try FrameSession()
    var writer = FrameWriter.opened()
    writer.request(1, path: "/now")
    writer.request(3, path: "/later")
    session.receive(writer.bytes)
    session.session.close()
    #expect(session.recorder.records.map(\.isCancelled) == [false, true])
  }

  @Test func anAnswerBeforeTheEndOfTheRequestStopsTheClient() throws {
    let session = try opened("/later", endsStream: false)
    try #require(session.recorder.responses.first).answer(413, HTTPFields(), body: [])
    session.turn()
    session.turn()
    let frames = try answer(session, stream: 1)
    #expect(frames.map(\.kind) == [headers, reset])
    #expect(session.recorder.records[0].isCancelled == false)
  }

  @Test func aSlowReaderPausesTheQueueOfItsResponse() throws {
    let session = try opened("/later")
    let response = try #require(session.recorder.responses.first)
    response.begin(200)
    response.send(Array(repeating: 1, count: 300_000))
    session.turn()
    let ran = Counter()
    response.queue.add { ran.increment() }
    session.turn()
    #expect(ran.value == 0)
    var writer = FrameWriter()
    writer.frame(.windowUpdate, payload: FrameWriter.number(400_000, byteCount: 4))
    writer.frame(.windowUpdate, stream: 1, payload: FrameWriter.number(400_000, byteCount: 4))
    session.receive(writer.bytes)
    session.turn()
    #expect(ran.value == 1)
  }

  @Test func aResponseThatIsNotReadIsReset() throws {
    let session = try opened("/later")
    let response = try #require(session.recorder.responses.first)
    response.begin(200)
    response.send(Array(repeating: 1, count: 300_000))
    session.turn()
    session.tick(afterSeconds: 1)
    session.tick(afterSeconds: 30)
    #expect(try !answer(session, stream: 1).contains { $0.kind == reset })
    session.tick(afterSeconds: 31)
    #expect(try answer(session, stream: 1).contains { $0.kind == reset })
    #expect(session.refusals.refusals == [.unread])
    #expect(session.recorder.records[0].isCancelled)
  }

  @Test func tooManyBytesThatWaitResetTheResponse() throws {
    var limits = HTTPLimits()
    limits.unsentBytesMax = 200_000
    let session = try opened("/later", limits: limits)
    let response = try #require(session.recorder.responses.first)
    response.begin(200)
    response.send(Array(repeating: 1, count: 150_000))
    response.send(Array(repeating: 1, count: 150_000))
    session.turn()
    #expect(session.refusals.refusals == [.unread])
  }

  /// Regression: nghttp2 asked for the body of a stream that the end of the connection had released.
  @Test func theEndOfTheClientDropsAnswersThatWait() throws {
    let session = try opened("/later")
    let response = try #require(session.recorder.responses.first)
    response.begin(200)
    response.send([UInt8](repeating: 1, count: 300_000))
    session.turn()
    let count = session.output.count
    session.session.receiveEnd()
    var writer = FrameWriter()
    writer.frame(.windowUpdate, stream: 1, payload: FrameWriter.number(400_000, byteCount: 4))
    session.receive(writer.bytes)
    session.turn()
    #expect(session.output.count == count && session.session.isFinished)
    #expect(session.recorder.records[0].isCancelled)
  }

  @Test func aFloodOfRequestsBeyondTheLimitEndsTheConnection() throws {
    let session = try FrameSession()
    session.receive(FrameWriter.opened().bytes)
    var writer = FrameWriter()
    var stream: UInt32 = 1
    while session.error == nil, stream < 20_000 {
      writer = FrameWriter()
      for _ in 0..<100 {
        writer.request(stream, path: "/later")
        stream += 2
      }
      session.receive(writer.bytes, endsTurn: false)
    }
    #expect(session.error?.refusal == .streams && session.recorder.records.isEmpty)
    session.turn()
    #expect(session.recorder.records.count == 100 && stream < 3000)
  }

  @Test func aSessionWithManyFramesThatWaitReadsNothing() throws {
    let session = try FrameSession()
    session.receive(FrameWriter.opened().bytes)
    #expect(session.session.wantsInput)
    var writer = FrameWriter()
    for stream in 0..<UInt32(1150) { writer.request(2 * stream + 1, path: "/later") }
    session.receive(writer.bytes, endsTurn: false)
    #expect(!session.session.wantsInput)
    session.turn()
    #expect(session.session.wantsInput)
  }

  @Test func aMalformedRequestDoesNotEndTheOthers() throws {
    let session = try opened("/later")
    var writer = FrameWriter()
    writer.request(3, path: "/later", fields: [("connection", "close")])
    session.receive(writer.bytes)
    session.tick(afterSeconds: 11)
    #expect(session.error == nil)
    #expect(session.recorder.records.map(\.isCancelled) == [false])
  }

  @Test func aBodyThatArrivesTooSlowlyIsRefused() throws {
    let session = try opened("/later", endsStream: false)
    var writer = FrameWriter()
    writer.data(1, [1], endsStream: false)
    session.receive(writer.bytes)
    session.tick(afterSeconds: 1)
    session.tick(afterSeconds: 9)
    #expect(session.refusals.refusals.isEmpty)
    session.tick(afterSeconds: 2)
    #expect(session.refusals.refusals == [.bodyRate] && session.recorder.records[0].isCancelled)
  }

  @Test func aBodyAtTheRateIsNotRefused() throws {
    let session = try opened("/later", endsStream: false)
    for _ in 0..<40 {
      var writer = FrameWriter()
      writer.data(1, [UInt8](repeating: 1, count: 2000), endsStream: false)
      session.receive(writer.bytes)
      session.tick(afterSeconds: 1)
    }
    #expect(session.refusals.refusals.isEmpty && session.error == nil)
  }

  @Test func aByteNowAndThenIsNotReading() throws {
    let session = try opened("/later")
    let response = try #require(session.recorder.responses.first)
    response.begin(200)
    response.send([UInt8](repeating: 1, count: 300_000))
    session.turn()
    for _ in 0..<3 {
      var writer = FrameWriter()
      for stream in [UInt32(0), 1] {
        writer.frame(.windowUpdate, stream: stream, payload: FrameWriter.number(1, byteCount: 4))
      }
      writer.frame(.ping, flags: FrameWriter.acknowledgement, payload: [UInt8](repeating: 0, count: 8))
      session.receive(writer.bytes)
      session.tick(afterSeconds: 31)
    }
    #expect(session.refusals.refusals == [.unread])
  }

  @Test func messagesThatHaveNotReachedTheLoopMakeTheQueueWait() throws {
    let session = try opened("/later")
    let response = try #require(session.recorder.responses.first)
    session.loop.elsewhere {
      response.begin(200)
      response.send([UInt8](repeating: 1, count: 60_000))
      response.send([UInt8](repeating: 1, count: 80_000))
    }
    let ran = Counter()
    response.queue.add { ran.increment() }
    session.pool.runBlocks(beside: session.loop)
    #expect(ran.value == 0)
    session.turn()
    session.turn()
    #expect(ran.value == 0, "the response itself has too many bytes")
    var writer = FrameWriter()
    writer.frame(.windowUpdate, payload: FrameWriter.number(100_000, byteCount: 4))
    writer.frame(.windowUpdate, stream: 1, payload: FrameWriter.number(100_000, byteCount: 4))
    session.receive(writer.bytes)
    session.turn()
    #expect(ran.value == 1)
  }

  @Test func fieldsThatAreTooLargeAreRefused() throws {
    let session = try FrameSession()
    var writer = FrameWriter.opened()
    let block = FrameWriter.requestBlock(
      path: "/now",
      fields: (0..<20).map { ("x-\($0)", String(repeating: "a", count: 1000)) } + [("origin", "http://a")])
    writer.frame(.headers, flags: FrameWriter.endStream, stream: 1, payload: Array(block[..<10_000]))
    writer.frame(.continuation, flags: FrameWriter.endHeaders, stream: 1, payload: Array(block[10_000...]))
    session.receive(writer.bytes)
    #expect(session.recorder.records.isEmpty)
    #expect(session.refusals.refusals == [.headerSize])
    #expect(try answer(session, stream: 1).map(\.endsStream) == [true])
    // The handler chooses the fields by which a page may see the answer.
    #expect(session.recorder.refused.map { $0.fields["origin"] } == ["http://a"])
    #expect(session.recorder.refused.map(\.target) == ["/now"])
  }

  @Test func fieldsThatDoNotEndEndTheConnection() throws {
    let session = try FrameSession()
    var writer = FrameWriter.opened()
    writer.frame(.headers, stream: 1, payload: FrameWriter.requestBlock(path: "/now"))
    session.receive(writer.bytes)
    session.tick(afterSeconds: 9)
    #expect(session.error == nil)
    session.tick(afterSeconds: 2)
    #expect(session.error?.refusal == .headerTimeout)
  }

  @Test func pingsAreAFloodUnlessTheServerHasAnswered() throws {
    let session = try FrameSession()
    var writer = FrameWriter.opened()
    for stream in stride(from: UInt32(1), to: 20, by: 2) {
      writer.frame(.ping, payload: Array(repeating: 1, count: 8))
      writer.request(stream, path: "/now")
      session.receive(writer.bytes)
      writer = FrameWriter()
    }
    #expect(session.error == nil)
    for _ in 0..<3 { writer.frame(.ping, payload: Array(repeating: 1, count: 8)) }
    session.receive(writer.bytes)
    #expect(session.error?.refusal == .pingFlood)
    #expect(session.frames?.last?.kind == goAway)
  }

  @Test func aSilentClientIsPingedAndThenDropped() throws {
    let session = try opened("/later")
    let count = session.output.count
    session.tick(afterSeconds: 61)
    #expect(session.output.count == count + 17)
    session.tick(afterSeconds: 15)
    #expect(session.error == nil)
    session.tick(afterSeconds: 10)
    #expect(session.error?.refusal == .pingTimeout)
  }

  @Test func anAnswerToAPingKeepsTheConnection() throws {
    let session = try opened("/later")
    session.tick(afterSeconds: 61)
    var writer = FrameWriter()
    writer.frame(.ping, flags: FrameWriter.acknowledgement, payload: Array(repeating: 0, count: 8))
    session.receive(writer.bytes)
    session.tick(afterSeconds: 25)
    #expect(session.error == nil)
  }

  @Test func aDrainingSessionAnswersWhatIsOpenAndThenFinishes() throws {
    let session = try opened("/later")
    session.session.drain()
    session.turn()
    #expect(session.frames?.last?.kind == goAway)
    #expect(!session.session.isFinished)
    var writer = FrameWriter()
    writer.request(3, path: "/now")
    session.receive(writer.bytes)
    #expect(session.recorder.records.count == 1)
    try #require(session.recorder.responses.first).answer(200, HTTPFields(), body: [1])
    session.turn()
    #expect(session.session.isFinished)
  }

  @Test func tooManyStreamsAreRefused() throws {
    let session = try FrameSession()
    var writer = FrameWriter.opened()
    for stream in 0..<UInt32(120) { writer.request(2 * stream + 1, path: "/later") }
    session.receive(writer.bytes)
    #expect(session.recorder.records.count == 100)
    #expect(session.session.openRequests == 100)
    #expect(Set(session.refusals.refusals) == [.streams])
  }

  @Test func garbageEndsTheConnection() throws {
    let session = try FrameSession()
    session.receive(Array("GET / HTTP/1.1\r\n\r\n".utf8))
    #expect(session.error?.refusal == .malformed)
  }

  @Test(arguments: [1, 2, 3]) func seedsOfTheFuzzerKeepItsRules(seed: UInt64) throws {
    var count = 0
    let summary = FuzzCampaign.run(FramesTarget.self, seed: seed, corpus: []) { inputs in
      count = inputs
      return inputs >= 300
    }
    #expect(summary.finding == nil)
    #expect(count >= 300 && summary.answers.count > 3)
  }

  private func opened(
    _ path: String, endsStream: Bool = true, limits: HTTPLimits = HTTPLimits()
  ) throws -> FrameSession {
    let session = try FrameSession(limits: limits)
    var writer = FrameWriter.opened()
    writer.request(1, path: path, endsStream: endsStream)
    session.receive(writer.bytes)
    return session
  }

  /// The frames that the session has sent on a stream.
  private func answer(_ session: FrameSession, stream: UInt32) throws -> [ReceivedFrame] {
    try #require(session.frames).filter { $0.stream == stream && $0.kind != 8 }
  }
}

/// Counts from any thread.
private final class Counter: Sendable {
  private let count = Locked(0)
  var value: Int { count.withLock { $0 } }
  func increment() { count.withLock { $0 += 1 } }
}
#endif
