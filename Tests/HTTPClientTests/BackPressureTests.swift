// Answers whose receiver does not keep up, by libcurl. URLSession reads them all the same.

#if !canImport(Darwin)
import ByteStore
import Dispatch
import HTTPClient
import Testing

@Suite(.timeLimit(.minutes(5)), .serialized) struct BackPressureTests {
  /// The bytes that are delivered and not taken: the limit of a window, and a piece of libcurl.
  private static let heldMax = 1 << 20 + 16 << 10

  /// Bytes whose order shows.
  private static func body(_ count: Int) -> [UInt8] {
    var block = (0..<4096).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }
    var body: [UInt8] = []
    while body.count < count {
      let number = body.count / block.count
      (block[0], block[1]) = (UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8))
      body += block
    }
    return Array(body.prefix(count))
  }

  private static let lengthHead = "HTTP/1.1 200 OK\r\nContent-Length: "

  /// A server of one answer by the target "/". Requests of other targets have a short answer.
  private func server(
    _ answer: [UInt8], then end: @escaping @Sendable (_ isWhole: Bool) -> Void = { _ in }
  ) throws -> RawServer {
    try RawServer { connection in
      while let request = connection.request() {
        if request.hasPrefix("GET / ") {
          end(connection.write(answer))
          return
        }
        if request.hasPrefix("GET /never ") { continue }
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      }
    }
  }

  /// Begins a request, and waits until its window is full.
  private func fill(
    _ recorder: ExchangeRecorder, by transport: any WebTransport, silenceSeconds: Double = 60
  ) -> any WebExchange {
    var request = WebRequest("GET", "/")
    request.silenceSeconds = silenceSeconds
    let exchange = transport.begin(request) { recorder.take($0) }
    #expect(recorder.waits { Self.charge($0) >= 1 << 20 })
    return exchange
  }

  private static func charge(_ events: [WebEvent]) -> Int {
    events.reduce(0) { if case .bytes(let bytes) = $1 { $0 + bytes.count + 256 } else { $0 } }
  }

  /// Other requests of the transport. The thread of its requests has read more of a paused answer meanwhile,
  /// if it reads on.
  private func runOthers(of transport: any WebTransport, _ count: Int = 20) {
    for _ in 0..<count {
      let other = ExchangeRecorder()
      _ = transport.begin(WebRequest("GET", "/other")) { other.take($0) }
      #expect(other.waitsForEnd() && other.body == Array("ok".utf8))
    }
  }

  /// Takes each piece as it comes, until the end.
  private func takeAll(_ exchange: any WebExchange, _ recorder: ExchangeRecorder) {
    var next = 0
    while true {
      #expect(recorder.waits { $0.count > next })
      let events = recorder.all
      guard events.count > next else { return }
      for event in events[next...] {
        switch event {
        case .head: break
        case .bytes(let bytes): exchange.taken(bytes.count)
        case .ended: return
        }
      }
      next = events.count
    }
  }

  /// Compares bodies. An expectation about them would describe them if it fails, which takes minutes.
  private func hasArrived(_ body: [UInt8], _ recorder: ExchangeRecorder) -> Bool { recorder.body == body }

  private func endCount(_ recorder: ExchangeRecorder) -> Int {
    recorder.all.count { if case .ended = $0 { true } else { false } }
  }

  // MARK: Pauses

  @Test func anAnswerIsReadAsFastAsItIsTaken() throws {
    let body = Self.body(32 << 20)
    let isWritten = Locked(false)
    let server = try server(Array("\(Self.lengthHead)\(body.count)\r\n\r\n".utf8) + body) { _ in
      isWritten.withLock { $0 = true }
    }
    let transport = TransportKind.curl.make(server.port)
    let recorder = ExchangeRecorder()
    let exchange = fill(recorder, by: transport)
    runOthers(of: transport)
    #expect(recorder.body.count <= Self.heldMax)
    #expect(!isWritten.withLock { $0 }, "The server has sent everything.")
    takeAll(exchange, recorder)
    let isWhole = hasArrived(body, recorder)
    #expect(isWhole)
    #expect(recorder.failure == nil && endCount(recorder) == 1)
    withExtendedLifetime(server) {}
  }

  /// A piece takes more memory than its bytes.
  @Test func piecesOfOneByteFillTheWindow() throws {
    let count = 100_000
    let body = Self.body(count)
    var answer = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
    for byte in body { answer += Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8) }
    let server = try server(answer + Array("0\r\n\r\n".utf8))
    let transport = TransportKind.curl.make(server.port)
    let recorder = ExchangeRecorder()
    let exchange = fill(recorder, by: transport)
    runOthers(of: transport)
    #expect(recorder.all.count <= 1 << 20 / 256 + 1)
    takeAll(exchange, recorder)
    let isWhole = hasArrived(body, recorder)
    #expect(isWhole && recorder.failure == nil)
    withExtendedLifetime(server) {}
  }

  /// Half of the window is taken at a time, so that the transfer is not paused and resumed for each piece.
  @Test func anAnswerContinuesWhenHalfOfItIsTaken() throws {
    let body = Self.body(4 << 20)
    let server = try server(Array("\(Self.lengthHead)\(body.count)\r\n\r\n".utf8) + body)
    let transport = TransportKind.curl.make(server.port)
    let recorder = ExchangeRecorder()
    let exchange = fill(recorder, by: transport)
    runOthers(of: transport, 3)
    let count = recorder.body.count
    var left = recorder.all.dropFirst()
    var charge = Self.charge(recorder.all)
    func takeNext() {
      guard case .bytes(let bytes) = left.popFirst() else { return }
      exchange.taken(bytes.count)
      charge -= bytes.count + 256
    }
    while charge > 3 << 18 { takeNext() }
    runOthers(of: transport, 3)
    #expect(recorder.body.count == count)
    while charge > 1 << 19 { takeNext() }
    #expect(recorder.waitsForBytes(count + 1 << 18))
    exchange.cancel()
    withExtendedLifetime(server) {}
  }

  // MARK: Ends

  enum Answer: CaseIterable { case length, chunks, untilClose, cut }

  @Test(arguments: Answer.allCases) func theEndComesAfterBytesThatWere(paused answer: Answer) throws {
    let body = Self.body(1 << 20 + 300_000)
    let bytes =
      switch answer {
      case .length: Array("\(Self.lengthHead)\(body.count)\r\n\r\n".utf8) + body
      case .chunks:
        Array(
          """
          HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(String(body.count, radix: 16))\r\n
          """.utf8) + body + Array("\r\n0\r\n\r\n".utf8)
      case .untilClose: Array("HTTP/1.1 200 OK\r\n\r\n".utf8) + body
      case .cut: Array("\(Self.lengthHead)\(body.count + 1)\r\n\r\n".utf8) + body
      }
    let written = DispatchSemaphore(value: 0)
    let server = try server(bytes) { _ in written.signal() }
    let transport = TransportKind.curl.make(server.port)
    let recorder = ExchangeRecorder()
    let exchange = fill(recorder, by: transport)
    #expect(written.wait(timeout: .now() + 30) == .success)
    runOthers(of: transport)
    #expect(endCount(recorder) == 0)
    // A paused request keeps its connection.
    transport.renewConnections()
    takeAll(exchange, recorder)
    runOthers(of: transport, 2)
    let isWhole = hasArrived(body, recorder)
    #expect(isWhole)
    #expect((recorder.failure == nil) == (answer != .cut))
    #expect(endCount(recorder) == 1)
    withExtendedLifetime(server) {}
  }

  @Test func aPausedRequestCanBeCancelled() throws {
    let isWhole = Locked<Bool?>(nil)
    let isGone = DispatchSemaphore(value: 0)
    let body = Self.body(32 << 20)
    let server = try server(Array("\(Self.lengthHead)\(body.count)\r\n\r\n".utf8) + body) { whole in
      isWhole.withLock { $0 = whole }
      isGone.signal()
    }
    let transport = TransportKind.curl.make(server.port)
    let recorder = ExchangeRecorder()
    let exchange = fill(recorder, by: transport)
    runOthers(of: transport, 2)
    let count = recorder.all.count
    exchange.cancel()
    #expect(isGone.wait(timeout: .now() + 30) == .success)
    #expect(isWhole.withLock { $0 } == false)
    for _ in 0..<count { exchange.taken(16 << 10) }
    runOthers(of: transport, 2)
    #expect(recorder.all.count == count)
    withExtendedLifetime(server) {}
  }

  @Test func aTransportThatIsReleasedEndsAPausedRequest() throws {
    let body = Self.body(32 << 20)
    let server = try server(Array("\(Self.lengthHead)\(body.count)\r\n\r\n".utf8) + body)
    let recorder = ExchangeRecorder()
    var transport: (any WebTransport)? = TransportKind.curl.make(server.port)
    let exchange = fill(recorder, by: try #require(transport))
    transport = nil
    #expect(recorder.waitsForEnd())
    #expect(recorder.failure != nil)
    exchange.taken(1 << 20)
    #expect(endCount(recorder) == 1)
    withExtendedLifetime(server) {}
  }

  // MARK: Silence

  @Test func aPauseIsNoSilenceAndSilenceAfterItEndsTheRequest() throws {
    let body = Self.body(3 << 20)
    let end = DispatchSemaphore(value: 0)
    let answer = Array("\(Self.lengthHead)\(body.count + 1)\r\n\r\n".utf8) + body
    let server = try server(answer) { _ in end.wait() }
    let transport = TransportKind.curl.make(server.port)
    let recorder = ExchangeRecorder()
    let exchange = fill(recorder, by: transport, silenceSeconds: 0.3)
    runOthers(of: transport, 2)
    // Another request of the transport ends by a longer silence.
    var request = WebRequest("GET", "/never")
    request.silenceSeconds = 0.6
    let other = ExchangeRecorder()
    _ = transport.begin(request) { other.take($0) }
    #expect(other.waitsForEnd() && other.failure != nil)
    #expect(endCount(recorder) == 0)
    takeAll(exchange, recorder)
    let isWhole = hasArrived(body, recorder)
    #expect(isWhole)
    #expect(recorder.failure == WebFailure("The server has not sent anything for too long."))
    end.signal()
    withExtendedLifetime(server) {}
  }
}
#endif
