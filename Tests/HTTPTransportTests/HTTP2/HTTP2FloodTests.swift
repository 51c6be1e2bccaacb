// Tests of HTTP/2 clients that send frames without end.

#if Server
import HTTPTransport
import Harness
import Testing

@Suite struct HTTP2FloodTests {
  private static let enhanceYourCalm: UInt8 = 11

  /// Sends frames until the session ends, with its output taken after each of these pieces.
  private func flood(
    _ session: FrameSession, pieces: Int, _ add: (inout FrameWriter, _ number: Int) -> Void
  ) -> Int {
    session.receive(FrameWriter.opened().bytes)
    for piece in 0..<pieces {
      var writer = FrameWriter()
      for number in 0..<10 { add(&writer, piece * 10 + number) }
      session.receive(writer.bytes)
      if session.error != nil || session.hasFinished { return piece * 10 }
    }
    return pieces * 10
  }

  private func lastCode(_ session: FrameSession) -> UInt8? {
    guard let last = session.frames?.last, last.kind == FrameWriter.Kind.goAway.rawValue else { return nil }
    return last.payload.count >= 8 ? last.payload[7] : nil
  }

  @Test func requestsThatAreResetAreAFlood() throws {
    let session = try FrameSession()
    let count = flood(session, pieces: 300) { writer, number in
      let stream = UInt32(2 * number + 1)
      writer.request(stream, path: "/later", endsStream: false)
      writer.frame(.reset, stream: stream, payload: FrameWriter.number(8, byteCount: 4))
    }
    #expect(session.error?.refusal == .resetFlood && lastCode(session) == Self.enhanceYourCalm)
    #expect((1000...1020).contains(count))
    #expect(session.recorder.records.isEmpty, "requests were begun that the client has reset")
  }

  @Test func resetsAreAllowedAgainAfterAWhile() throws {
    let session = try FrameSession()
    session.receive(FrameWriter.opened().bytes)
    var stream: UInt32 = 1
    for _ in 0..<50 {
      for _ in 0..<33 {
        var writer = FrameWriter()
        writer.request(stream, path: "/later", endsStream: false)
        writer.frame(.reset, stream: stream, payload: FrameWriter.number(8, byteCount: 4))
        session.receive(writer.bytes)
        stream += 2
      }
      session.tick(afterSeconds: 1)
    }
    #expect(session.error == nil && session.refusals.refusals.isEmpty)
  }

  /// The client breaks a rule on purpose, so that the server resets the requests.
  @Test func requestsThatTheServerHasToResetAreAFlood() throws {
    let session = try FrameSession()
    let count = flood(session, pieces: 300) { writer, number in
      let stream = UInt32(2 * number + 1)
      writer.request(stream, path: "/later", endsStream: false)
      writer.frame(.windowUpdate, stream: stream, payload: FrameWriter.number(0x7FFF_FFFF, byteCount: 4))
    }
    #expect(session.error?.refusal == .resetFlood && lastCode(session) == Self.enhanceYourCalm)
    #expect((1000...1020).contains(count))
    #expect(session.recorder.records.isEmpty, "requests were begun that the server has reset")
  }

  @Test(arguments: [FrameWriter.Kind.settings, .priority, .windowUpdate, .ping, .data])
  func framesWithoutAnEffectAreAFlood(kind: FrameWriter.Kind) throws {
    let session = try FrameSession()
    let count = flood(session, pieces: 300) { writer, number in
      if number == 0 { writer.request(1, path: "/later", endsStream: false) }
      switch kind {
      case .settings: writer.frame(.settings)
      case .priority:
        writer.frame(.priority, stream: UInt32(2 * number + 3), payload: [0, 0, 0, 0, 1])
      case .windowUpdate: writer.frame(.windowUpdate, payload: FrameWriter.number(1, byteCount: 4))
      case .ping:
        writer.frame(.ping, flags: FrameWriter.acknowledgement, payload: [UInt8](repeating: 0, count: 8))
      default: writer.data(1, [], endsStream: false)
      }
    }
    #expect(session.error?.refusal == .frameFlood && lastCode(session) == Self.enhanceYourCalm)
    #expect((980...1150).contains(count))
  }

  @Test func windowUpdatesOfAClientThatReadsAreNoFlood() throws {
    let session = try FrameSession()
    var writer = FrameWriter.opened()
    writer.request(1, path: "/later")
    session.receive(writer.bytes)
    let response = try #require(session.recorder.responses.first)
    response.begin(200)
    for _ in 0..<5000 {
      response.send([1])
      session.turn()
      var writer = FrameWriter()
      writer.frame(.windowUpdate, payload: FrameWriter.number(1, byteCount: 4))
      writer.frame(.windowUpdate, stream: 1, payload: FrameWriter.number(1, byteCount: 4))
      session.receive(writer.bytes)
    }
    #expect(session.error == nil && session.refusals.refusals.isEmpty)
  }

  @Test func anAnswerToAPingOfTheServerIsNoFlood() throws {
    let session = try FrameSession()
    session.receive(FrameWriter.opened().bytes)
    for _ in 0..<1200 {
      session.tick(afterSeconds: 61)
      var writer = FrameWriter()
      writer.frame(.ping, flags: FrameWriter.acknowledgement, payload: [UInt8](repeating: 0, count: 8))
      session.receive(writer.bytes)
    }
    #expect(session.error == nil && session.refusals.refusals.isEmpty)
  }

  @Test func fieldsInTooManyFramesAreAFlood() throws {
    let session = try FrameSession()
    var writer = FrameWriter.opened()
    writer.frame(
      .headers, flags: FrameWriter.endStream, stream: 1, payload: FrameWriter.requestBlock(path: "/"))
    for _ in 0..<40 { writer.frame(.continuation, stream: 1, payload: FrameWriter.field("x", "y")) }
    session.receive(writer.bytes)
    #expect(session.error?.refusal == .frameFlood)
    #expect(session.recorder.records.isEmpty)
  }

  @Test func settingsWithTooManyEntriesAreAFlood() throws {
    let session = try FrameSession()
    var writer = FrameWriter.opened()
    let entry: [UInt8] = [0, 4, 0, 0, 0xFF, 0xFF]
    writer.frame(.settings, payload: (0..<100).flatMap { _ in entry })
    session.receive(writer.bytes)
    #expect(session.session.isFinished)
    #expect(session.refusals.refusals == [.frameFlood])
  }

  @Test func fieldsThatCannotBeDecodedAreCountedOnce() throws {
    let session = try FrameSession()
    var writer = FrameWriter.opened()
    writer.frame(
      .headers, flags: FrameWriter.endStream | FrameWriter.endHeaders, stream: 1, payload: [0xFF, 0xFF])
    session.receive(writer.bytes)
    #expect(session.session.isFinished && session.recorder.records.isEmpty)
    #expect(session.refusals.refusals == [.malformed])
  }
}
#endif
