// Requests by both transports, against a server of raw bytes.

import ByteStore
import Dispatch
import Foundation
import HTTPClient
import Testing
import URLSessionClient

/// The transport of this system, and URLSession, which is the one of other systems.
enum TransportKind: CaseIterable {
  case urlSession
  #if !canImport(Darwin)
  case curl
  #endif

  func make(_ host: String, isTLS: Bool = false) -> any WebTransport {
    switch self {
    case .urlSession: URLSessionTransport(host: host, isTLS: isTLS)
    #if !canImport(Darwin)
    case .curl: CurlTransport(host: host, isTLS: isTLS)
    #endif
    }
  }

  func make(_ port: Int) -> any WebTransport { make("127.0.0.1:\(port)") }
}

@Suite(.timeLimit(.minutes(5)), .serialized) struct TransportTests {

  /// Runs a request against a server that answers with these bytes, and returns its events.
  private func exchange(
    _ answer: [UInt8], by kind: TransportKind, request: WebRequest = WebRequest("GET", "/")
  ) throws -> ExchangeRecorder {
    let server = try RawServer { connection in
      if connection.request() != nil { connection.write(answer) }
    }
    let recorder = ExchangeRecorder()
    let transport = kind.make(server.port)
    _ = transport.begin(request) { recorder.take($0) }
    #expect(recorder.waitsForEnd())
    withExtendedLifetime(server) {}
    return recorder
  }

  private func exchange(_ answer: String, by kind: TransportKind) throws -> ExchangeRecorder {
    try exchange(Array(answer.utf8), by: kind)
  }

  @Test(arguments: TransportKind.allCases) func aRequestHasItsTargetItsFieldsAndItsBody(_ kind: TransportKind)
    throws
  {
    let received = Locked<String?>(nil)
    let server = try RawServer { connection in
      let text = connection.request()
      received.withLock { $0 = text }
      connection.write("HTTP/1.1 201 Created\r\nX-Some-Name: Value\r\nContent-Length: 2\r\n\r\nok")
    }
    var request = WebRequest("POST", "/v1/a%2Fb/(default)?x=%20%C3%A9&y=a%2Fb")
    request.fields = [WebRequest.Field("content-type", "text/plain"), WebRequest.Field("X-Own", "1, 2")]
    request.body = Array("a body".utf8)
    let recorder = ExchangeRecorder()
    let transport = kind.make(server.port)
    _ = transport.begin(request) { recorder.take($0) }
    #expect(recorder.waitsForEnd())
    let text = try #require(received.withLock { $0 })
    #expect(text.hasPrefix("POST /v1/a%2Fb/(default)?x=%20%C3%A9&y=a%2Fb HTTP/1.1\r\n"))
    #expect(text.lowercased().contains("\r\ncontent-type: text/plain\r\n"))
    #expect(text.lowercased().contains("\r\nx-own: 1, 2\r\n"))
    #expect(!text.lowercased().contains("\r\nexpect:"))
    #expect(text.hasSuffix("\r\n\r\na body"))
    #expect(recorder.status == 201)
    #expect(recorder.fields["x-some-name"] == "Value")
    #expect(recorder.body == Array("ok".utf8))
    #expect(recorder.all.last == .ended(nil))
    withExtendedLifetime(server) {}
  }

  #if !canImport(Darwin)
  /// In a process of its own, because the environment belongs to all threads.
  @Test(arguments: ["127.0.0.1", "localhost", "LOCALHOST"]) func noProxyComesBetweenTwoProgramsOfAMachine(
    host: String
  ) async {
    await #expect(processExitsWith: .success) { [host] in
      // Nothing listens at the proxy.
      setenv("http_proxy", "http://127.0.0.1:1", 1)
      setenv("all_proxy", "http://127.0.0.1:1", 1)
      let server = try RawServer { connection in
        if connection.request() != nil { connection.write("HTTP/1.1 204 No Content\r\n\r\n") }
      }
      let recorder = ExchangeRecorder()
      let transport = CurlTransport(host: "\(host):\(server.port)", isTLS: false)
      _ = transport.begin(WebRequest("GET", "/")) { recorder.take($0) }
      precondition(recorder.waitsForEnd() && recorder.status == 204)
      withExtendedLifetime(server) {}
    }
  }

  /// A name that only looks like an address of this machine.
  @Test(arguments: ["127.0.0.1.invalid", "localhost.invalid", "xlocalhost"]) func otherHostsHaveTheProxy(
    host: String
  ) async {
    await #expect(processExitsWith: .success) { [host] in
      let proxy = try RawServer { connection in
        if connection.request() != nil { connection.write("HTTP/1.1 204 No Content\r\n\r\n") }
      }
      setenv("http_proxy", "http://127.0.0.1:\(proxy.port)", 1)
      unsetenv("no_proxy")
      let recorder = ExchangeRecorder()
      let transport = CurlTransport(host: host, isTLS: false)
      _ = transport.begin(WebRequest("GET", "/")) { recorder.take($0) }
      precondition(recorder.waitsForEnd() && recorder.status == 204)
      withExtendedLifetime(proxy) {}
    }
  }
  #endif

  @Test(arguments: TransportKind.allCases) func chunksArriveBeforeTheEnd(_ kind: TransportKind) throws {
    let mayContinue = DispatchSemaphore(value: 0)
    let server = try RawServer { connection in
      guard connection.request() != nil else { return }
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
      mayContinue.wait()
      connection.write("2\r\nde\r\n0\r\n\r\n")
    }
    let recorder = ExchangeRecorder()
    let transport = kind.make(server.port)
    _ = transport.begin(WebRequest("GET", "/")) { recorder.take($0) }
    #expect(recorder.waitsForBytes(3))
    mayContinue.signal()
    #expect(recorder.waitsForEnd())
    #expect(recorder.body == Array("abcde".utf8))
    withExtendedLifetime(server) {}
  }

  /// The handler was wrapped with each piece. Its call went through all wrappers, and the stack was too
  /// small.
  @Test(arguments: TransportKind.allCases) func anAnswerOfManyPiecesArrives(_ kind: TransportKind) throws {
    let count = 4000
    let piece = "1\r\na\r\n"
    let recorder = try exchange(
      """
      HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(String(repeating: piece, count: count))0\r\n\r\n
      """, by: kind)
    #expect(recorder.body.count == count && recorder.failure == nil)
  }

  @Test(arguments: TransportKind.allCases) func manyAnswersAreOpenAtATime(_ kind: TransportKind) throws {
    let count = 16
    let all = DispatchSemaphore(value: 0)
    let server = try RawServer { connection in
      guard connection.request() != nil else { return }
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
      all.wait()
    }
    let transport = kind.make(server.port)
    let recorders = (0..<count).map { _ in ExchangeRecorder() }
    for recorder in recorders { _ = transport.begin(WebRequest("GET", "/")) { recorder.take($0) } }
    for recorder in recorders { #expect(recorder.waitsForBytes(3)) }
    for _ in 0..<count { all.signal() }
    for recorder in recorders { #expect(recorder.waitsForEnd()) }
    // The answers have no end, so each one has failed.
    #expect(recorders.allSatisfy { $0.failure?.isUnsent == false })
    withExtendedLifetime(server) {}
  }

  @Test(arguments: TransportKind.allCases) func aCancelledRequestEndsItsConnectionAndItsEvents(
    _ kind: TransportKind
  ) throws {
    let isGone = DispatchSemaphore(value: 0)
    let server = try RawServer { connection in
      guard connection.request() != nil else { return }
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
      while connection.read()?.isEmpty == false {}
      isGone.signal()
    }
    let transport = kind.make(server.port)
    let recorder = ExchangeRecorder()
    let exchange = transport.begin(WebRequest("GET", "/")) { recorder.take($0) }
    #expect(recorder.waitsForBytes(3))
    exchange.cancel()
    #expect(isGone.wait(timeout: .now() + 30) == .success)
    #expect(recorder.all.count == 2)
    exchange.cancel()
    withExtendedLifetime(server) {}
  }

  @Test(arguments: TransportKind.allCases) func requestsCanBeCancelledAtAnyTime(_ kind: TransportKind) throws
  {
    let server = try RawServer { connection in
      while connection.request() != nil {
        guard connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc") else { return }
        guard connection.write("de") else { return }
      }
    }
    let transport = kind.make(server.port)
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<300 {
      let recorder = ExchangeRecorder()
      let exchange = transport.begin(WebRequest("GET", "/")) { recorder.take($0) }
      if Bool.random(using: &generator) {
        exchange.cancel()
      } else if Bool.random(using: &generator) {
        _ = recorder.waits { !$0.isEmpty }
        exchange.cancel()
      } else {
        #expect(recorder.waitsForEnd())
        #expect(recorder.body == Array("abcde".utf8))
        exchange.cancel()
      }
    }
    withExtendedLifetime(server) {}
  }

  @Test(arguments: TransportKind.allCases)
  func aRequestWithoutAnAnswerIsNotSentAgain(_ kind: TransportKind) throws {
    let received = Locked<[String]>([])
    let server = try RawServer { connection in
      // The connection stays open after an answer, and ends in the place of the second one.
      for answer in ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", ""] {
        guard let text = connection.request() else { return }
        received.withLock { $0.append(text) }
        connection.write(answer)
      }
    }
    let transport = kind.make(server.port)
    var failures: [WebFailure?] = []
    for number in 1...2 {
      var request = WebRequest("POST", "/\(number)")
      request.body = Array("body".utf8)
      // FoundationNetworking sends the head again, and has no body any more.
      request.silenceSeconds = 1
      let recorder = ExchangeRecorder()
      _ = transport.begin(request) { recorder.take($0) }
      #expect(recorder.waitsForEnd())
      failures.append(recorder.failure)
    }
    #expect(received.withLock { $0.filter { $0.hasPrefix("POST /2") }.count } == 1)
    #expect(failures[0] == nil && failures[1]?.isUnsent == false)
    withExtendedLifetime(server) {}
  }

  @Test(arguments: TransportKind.allCases) func aSilentServerEndsTheRequest(_ kind: TransportKind) throws {
    let end = DispatchSemaphore(value: 0)
    let server = try RawServer { connection in
      guard connection.request() != nil else { return }
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
      end.wait()
    }
    var request = WebRequest("GET", "/")
    request.silenceSeconds = 0.3
    let recorder = ExchangeRecorder()
    let transport = kind.make(server.port)
    _ = transport.begin(request) { recorder.take($0) }
    #expect(recorder.waitsForEnd())
    #expect(recorder.failure?.message == "The server has not sent anything for too long.")
    #expect(recorder.body == Array("abc".utf8))
    end.signal()
    withExtendedLifetime(server) {}
  }

  #if !canImport(Darwin)
  /// The server accepts the connection and never answers the handshake of TLS.
  @Test func silenceBeforeThereIsAConnectionHasNoEffect() throws {
    let end = DispatchSemaphore(value: 0)
    let server = try RawServer { _ in end.wait() }
    var request = WebRequest("POST", "/")
    request.body = Array("body".utf8)
    request.silenceSeconds = 0.3
    let recorder = ExchangeRecorder()
    let transport = TransportKind.curl.make("127.0.0.1:\(server.port)", isTLS: true)
    _ = transport.begin(request) { recorder.take($0) }
    #expect(recorder.waitsForEnd())
    #expect(recorder.failure == WebFailure("The server has not sent anything for too long.", isUnsent: true))
    end.signal()
  }

  @Test func silenceAfterARequestHasAnUnknownEffect() throws {
    let end = DispatchSemaphore(value: 0)
    let server = try RawServer { connection in
      _ = connection.request()
      end.wait()
    }
    var request = WebRequest("POST", "/")
    request.body = Array("body".utf8)
    request.silenceSeconds = 0.3
    let recorder = ExchangeRecorder()
    let transport = TransportKind.curl.make(server.port)
    _ = transport.begin(request) { recorder.take($0) }
    #expect(recorder.waitsForEnd())
    #expect(recorder.failure == WebFailure("The server has not sent anything for too long."))
    end.signal()
  }

  /// Each line ends the silence.
  @Test func aHeadThatDoesNotEndHasATimeLimit() throws {
    let lineCount = Locked(0)
    let end = DispatchSemaphore(value: 0)
    let server = try RawServer { connection in
      guard connection.request() != nil else { return }
      connection.write("HTTP/1.1 200 OK\r\n")
      // Ten seconds, unless the client ends the connection.
      for _ in 0..<200 where connection.write("a: b\r\n") {
        lineCount.withLock { $0 += 1 }
        _ = end.wait(timeout: .now() + 0.05)
      }
      connection.write("\r\n")
    }
    var request = WebRequest("GET", "/")
    request.silenceSeconds = 0.5
    let recorder = ExchangeRecorder()
    let transport = TransportKind.curl.make(server.port)
    _ = transport.begin(request) { recorder.take($0) }
    #expect(recorder.waitsForEnd())
    #expect(recorder.all == [.ended(WebFailure("The head of the answer takes too long."))])
    #expect(lineCount.withLock { $0 } < 200)
    end.signal()
    withExtendedLifetime(server) {}
  }

  /// A write to a connection that the server has closed would end a program that does not ignore the signal.
  @Test func theThreadOfRequestsBlocksTheSignalOfBrokenPipes() throws {
    let server = try RawServer { connection in
      if connection.request() != nil {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      }
    }
    let transport = TransportKind.curl.make(server.port)
    let recorder = ExchangeRecorder()
    let blocks = Locked<[Bool]>([])
    // The thread of requests calls the handler.
    _ = transport.begin(WebRequest("GET", "/")) { event in
      var signals = sigset_t()
      pthread_sigmask(SIG_BLOCK, nil, &signals)
      blocks.withLock { $0.append(sigismember(&signals, SIGPIPE) == 1) }
      recorder.take(event)
    }
    #expect(recorder.waitsForEnd())
    #expect(blocks.withLock { !$0.isEmpty && $0.allSatisfy { $0 } })
  }
  #endif

  @Test(arguments: TransportKind.allCases) func aHostThatCannotBeReachedHasNoEffect(_ kind: TransportKind)
    throws
  {
    let port = try RawServer { _ in }.port
    let recorder = ExchangeRecorder()
    let transport = kind.make(port)
    _ = transport.begin(WebRequest("GET", "/")) { recorder.take($0) }
    #expect(recorder.waitsForEnd())
    #expect(recorder.failure?.isUnsent == true, "\(recorder.all)")
    #expect(recorder.failure?.message.isEmpty == false)
  }

  @Test(
    arguments: ["does-not-exist.invalid", "a b", "", "[::1", "host:port"], TransportKind.allCases)
  func aHostThatDoesNotExistHasNoEffect(host: String, kind: TransportKind) {
    let recorder = ExchangeRecorder()
    let transport = kind.make(host)
    _ = transport.begin(WebRequest("GET", "/")) { recorder.take($0) }
    #expect(recorder.waitsForEnd())
    #expect(recorder.failure?.isUnsent == true, "\(recorder.all)")
  }

  @Test(arguments: TransportKind.allCases) func aServerWithoutTLSIsNamedAsTheCause(_ kind: TransportKind)
    throws
  {
    let server = try RawServer { connection in
      _ = connection.read()
      connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
    }
    let recorder = ExchangeRecorder()
    let transport = kind.make("127.0.0.1:\(server.port)", isTLS: true)
    _ = transport.begin(WebRequest("GET", "/")) { recorder.take($0) }
    #expect(recorder.waitsForEnd())
    #expect(recorder.failure?.message.contains("TLS") == true, "\(recorder.all)")
    withExtendedLifetime(server) {}
  }

  @Test(arguments: TransportKind.allCases) func aRedirectIsAnAnswer(_ kind: TransportKind) throws {
    let recorder = try exchange(
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/other\r\nContent-Length: 4\r\n\r\nmove", by: kind)
    #expect(recorder.status == 302)
    #expect(recorder.fields["location"] == "http://127.0.0.1:1/other")
    #expect(recorder.all.last == .ended(nil))
  }

  @Test(arguments: TransportKind.allCases) func aChallengeIsAnAnswer(_ kind: TransportKind) throws {
    let recorder = try exchange(
      "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\"\r\nContent-Length: 2\r\n\r\nno",
      by: kind)
    #expect(recorder.status == 401)
    #expect(recorder.body == Array("no".utf8))
    #expect(recorder.all.last == .ended(nil))
  }

  @Test(arguments: TransportKind.allCases) func anAnswerThatIsCutIsAFailure(_ kind: TransportKind) throws {
    let recorder = try exchange("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", by: kind)
    #expect(recorder.failure?.isUnsent == false)
  }

  @Test(
    arguments: [
      "", "\r\n", "garbage", "garbage\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n",
      "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 1000 OK\r\n\r\n", "HTTP/1.1 -200 OK\r\n\r\n",
      "HTTP/0.9 200 OK\r\n\r\nab",
      "HTTP/1.1 200\r\n\r\nabc", "HTTP/1.1 200 OK\r\n: no name\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nno colon\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\n folded first\r\n\r\nabc", "HTTP/1.1 200 OK\r\na: b\r\n c\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno colon\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Encoding: unknown\r\n\r\nabc",
      "HTTP/1.1 100 Continue\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
      "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nabc",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 1\r\n\r\na",
      "HTTP/1.1 204 No Content\r\n\r\nabc", "HTTP/1.1 304 Not Modified\r\n\r\nabc", "HTTP/2 200\r\n\r\nabc",
      "HTTP/1.1 302 Found\r\n\r\nabc", "HTTP/1.1 302 Found\r\nLocation: \r\n\r\nabc",
      "HTTP/1.1 302 Found\r\nLocation: //\r\n\r\nabc", "HTTP/1.1 302 Found\r\nLocation: //%20:x/a\r\n\r\nabc",
      "HTTP/1.1 302 Found\r\nLocation: //[::/a\r\n\r\nabc", "HTTP/1.1 307 T\r\nLocation: ?a=%zz\r\n\r\n",
      "HTTP/1.1 302 Found\r\nLocation: http:///x\r\n\r\nabc",
      "HTTP/1.1 302 Found\r\nLocation: ftp://a/b\r\n\r\n",
      "HTTP/1.1 302 Found\r\nLocation: //a:99999999/c\r\n\r\n",
      "HTTP/1.1 302 Found\r\nLocation: mailto:x\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: #\u{e9}\r\n\r\n",
      "HTTP/1.1 302 Found\r\nLocation: //\u{e9}\u{1F600}/\r\n\r\n",
      "HTTP/1.1 303 S\r\nLocation: a:b:c\r\n\r\n",
      "HTTP/1.1 302 Found\r\nLocation: a?b?c#d#e\r\n\r\n", "HTTP/1.1 308 P\r\nLocation: //u:p@/x\r\n\r\n",
      "HTTP/1.1 302 Found\r\nLocation: //a:/x\r\n\r\n",
      "HTTP/1.1 401 U\r\nWWW-Authenticate: \r\n\r\n", "HTTP/1.1 401 U\r\nWWW-Authenticate: Basic\r\n\r\nabc",
      "HTTP/1.1 401 U\r\nWWW-Authenticate: Basic realm=\"\r\n\r\n",
      "HTTP/1.1 401 U\r\nWWW-Authenticate: ,,,=,\r\n\r\n",
      "HTTP/1.1 401 U\r\nWWW-Authenticate: Basic realm=\"a\\\r\n\r\n",
      "HTTP/1.1 407 P\r\nProxy-Authenticate: Basic realm=\"a\"\r\n\r\n",
      "HTTP/1.1 200 OK\r\nSet-Cookie: =;;=\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nSet-Cookie: a=b; expires=x; domain=.; max-age=99999999999999999999\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Type: \r\nContent-Disposition: filename=\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=\"\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Disposition: attachment; filename=\"../..\"\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nCache-Control: max-age=99999999999999999999, x=\"\r\nExpires: x\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nAlt-Svc: h3=\":443\"\r\nStrict-Transport-Security: x\r\n\r\nabc",
      "HTTP/1.1 200 \u{e9}\u{1F600}\r\n\u{e9}: \u{1F600}\r\n\r\nabc",
    ], TransportKind.allCases)
  func aHostileAnswerHasOneEnd(answer: String, kind: TransportKind) throws {
    let recorder = try exchange(answer, by: kind)
    #expect(recorder.all.filter { if case .ended = $0 { true } else { false } }.count == 1)
    if case .ended = recorder.all.last {} else { Issue.record("events follow the end") }
  }

  @Test(arguments: TransportKind.allCases) func anAnswerThatIsNotTextHasOneEnd(_ kind: TransportKind) throws {
    for piece in [[0x80], [0xFF, 0xFE], [0xC3], [0xED, 0xA0, 0x80], [0x0D], [0x0A], [0x1B]] as [[UInt8]] {
      let head = Array("HTTP/1.1 200 OK\r\n".utf8)
      let end = Array("\r\n\r\nabc".utf8)
      for answer in [
        piece, head + piece + end, head + Array("a: ".utf8) + piece + end,
        Array("HTTP/1.1 2".utf8) + piece + end,
        Array("HTTP/1.1 200 ".utf8) + piece + end, head + piece + Array(": b".utf8) + end,
        Array("HTTP/1.1 302 F\r\nLocation: //".utf8) + piece + end,
      ] {
        let recorder = try exchange(answer, by: kind)
        #expect(recorder.all.filter { if case .ended = $0 { true } else { false } }.count == 1)
      }
    }
  }

  @Test(arguments: TransportKind.allCases) func aLongHeadHasOneEnd(_ kind: TransportKind) throws {
    let recorder = try exchange(
      "HTTP/1.1 200 OK\r\na: \(String(repeating: "x", count: 2_000_000))\r\n\r\nabc", by: kind)
    #expect(recorder.failure != nil)
  }

  @Test(arguments: TransportKind.allCases) func newConnectionsServeNewRequestsAndOldRequestsEnd(
    _ kind: TransportKind
  ) throws {
    let mayEnd = DispatchSemaphore(value: 0)
    let server = try RawServer { connection in
      while let request = connection.request() {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
        if request.hasPrefix("GET /slow") { mayEnd.wait() }
        connection.write("cd")
      }
    }
    let transport = kind.make(server.port)
    func begin(_ target: String) -> ExchangeRecorder {
      let recorder = ExchangeRecorder()
      _ = transport.begin(WebRequest("GET", target)) { recorder.take($0) }
      return recorder
    }
    for _ in 0..<2 { #expect(begin("/").waitsForEnd()) }
    #expect(server.connectionCount == 1, "the connection is kept")
    let slow = begin("/slow")
    #expect(slow.waitsForBytes(2))
    #expect(server.connectionCount == 1)
    transport.renewConnections()
    mayEnd.signal()
    #expect(slow.waitsForEnd() && slow.failure == nil && slow.body == Array("abcd".utf8))
    // The connection of before is idle, and is not used again.
    for _ in 0..<2 {
      let new = begin("/")
      #expect(new.waitsForEnd() && new.failure == nil)
      #expect(server.connectionCount == 2)
    }
    withExtendedLifetime(server) {}
  }

  #if !canImport(Darwin)
  /// FoundationNetworking ends the process here.
  @Test func anAnswerThatIsCutAtAnyByteIsAFailure() throws {
    let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: y\r\n\r\nabc".utf8)
    for count in answer.indices {
      let recorder = try exchange(Array(answer.prefix(count)), by: .curl)
      #expect(recorder.failure != nil, "\(count) bytes")
      #expect(recorder.failure?.isUnsent != true)
    }
    #expect(try exchange(answer, by: .curl).failure == nil)
  }

  /// FoundationNetworking ends the process for each of these.
  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\n",
    "HTTP/1.1 200 OK\r\na\0b: c\r\n\r\nabc", "HTTP/1.1 200 OK\r\n\0: c\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775806\r\n\r\nabc",
    "HTTP/1.1 302 Found\r\nLocation: http://a%00b/\r\n\r\n", "HTTP/1.1 302 F\r\nLocation: //%5B::1/\r\n\r\n",
    "HTTP/1.1 302 Found\r\nLocation: http://%2F%25:80/\r\n\r\nabc",
  ])
  func anAnswerCannotEndTheProcess(answer: String) throws {
    let recorder = try exchange(answer, by: .curl)
    #expect(recorder.all.filter { if case .ended = $0 { true } else { false } }.count == 1)
    if answer.contains("Trailer") {
      #expect(recorder.body == Array("abc".utf8))
      #expect(recorder.failure == nil)
      #expect(recorder.fields["trailer"] == nil)
    }
  }

  @Test func aTransportThatIsReleasedEndsItsRequests() throws {
    let end = DispatchSemaphore(value: 0)
    let server = try RawServer { connection in
      _ = connection.request()
      end.wait()
    }
    let recorder = ExchangeRecorder()
    var transport: (any WebTransport)? = CurlTransport(host: "127.0.0.1:\(server.port)", isTLS: false)
    _ = transport?.begin(WebRequest("GET", "/")) { recorder.take($0) }
    transport = nil
    #expect(recorder.waitsForEnd())
    #expect(recorder.failure != nil)
    end.signal()
    withExtendedLifetime(server) {}
  }

  /// A server may have done what a request says although its connection ends without an answer.
  @Test func aBodyIsSentOnce() throws {
    let requests = Locked(0)
    let server = try RawServer { connection in
      while connection.request() != nil {
        let count = requests.withLock { count in
          count += 1
          return count
        }
        guard count == 1 else { return }
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      }
    }
    let transport = CurlTransport(host: "127.0.0.1:\(server.port)", isTLS: false)
    var request = WebRequest("POST", "/")
    request.body = Array(repeating: UInt8(ascii: "x"), count: 2000)
    let first = ExchangeRecorder()
    _ = transport.begin(request) { first.take($0) }
    #expect(first.waitsForEnd())
    #expect(first.failure == nil)
    let second = ExchangeRecorder()
    _ = transport.begin(request) { second.take($0) }
    #expect(second.waitsForEnd())
    #expect(second.failure?.isUnsent == false)
    #expect(requests.withLock { $0 } == 2)
    withExtendedLifetime(server) {}
  }

  @Test(arguments: ["a\r\nb: c", "a\nb", "a\0b"]) func aFieldCannotBeginAnother(value: String) throws {
    let server = try RawServer { _ in }
    var request = WebRequest("GET", "/")
    request.fields = [WebRequest.Field("x-own", value)]
    let recorder = ExchangeRecorder()
    let transport = CurlTransport(host: "127.0.0.1:\(server.port)", isTLS: false)
    _ = transport.begin(request) { recorder.take($0) }
    #expect(recorder.waitsForEnd())
    #expect(recorder.failure?.isUnsent == true)
    withExtendedLifetime(server) {}
  }
  #endif
}
