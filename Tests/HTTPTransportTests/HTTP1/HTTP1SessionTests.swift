// Requests and responses of a connection of HTTP/1.1.

import HTTPTransport
import Harness
import Testing

@Suite struct HTTP1SessionTests {
  private static let get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
  private static let post = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"

  // MARK: Framing

  @Test func aResponseThatIsKnownWholeHasALength() {
    let peer = SessionPeer(
      ScriptedHandler { _, response in
        response.begin(200, HTTPFields(["content-type": "text/plain"]))
        response.send(Array("ab".utf8))
        response.send(Array("c".utf8))
        response.end()
      })
    peer.send(Self.get)
    peer.takeAll()
    #expect(peer.text == "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n\r\nabc")
    #expect(!peer.session.isFinished)
  }

  @Test func aResponseWithoutABodyHasTheLengthZero() {
    let peer = answering { $0.answer(404, HTTPFields(), body: []) }
    peer.send(Self.get)
    peer.takeAll()
    #expect(peer.text == "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
  }

  @Test func aResponseWithAnUnknownEndIsChunkedAndHasTrailers() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(Self.get)
    let response = handler.responses[0]
    response.begin(200)
    response.send(Array("hello ".utf8))
    peer.takeAll()
    #expect(peer.text == "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\nhello \r\n")
    response.send([])
    response.send([UInt8](repeating: UInt8(ascii: "x"), count: 17))
    response.end(HTTPFields(["x-sum": "1"]))
    peer.takeAll()
    #expect(peer.text.hasSuffix("6\r\nhello \r\n11\r\nxxxxxxxxxxxxxxxxx\r\n0\r\nx-sum: 1\r\n\r\n"))
    #expect(!peer.session.isFinished)
  }

  @Test func anAnswerFromAnotherThreadInOneGoHasALength() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(Self.get)
    peer.loop.elsewhere {
      handler.responses[0].begin(200)
      handler.responses[0].send([0x61])
      handler.responses[0].end()
    }
    peer.takeAll()
    #expect(peer.text == "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na")
  }

  @Test func aClientOfHTTP10GetsTheBodyUpToTheEndOfTheConnection() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    handler.responses[0].begin(200)
    handler.responses[0].send([0x61])
    peer.takeAll()
    handler.responses[0].send([0x62])
    handler.responses[0].end(HTTPFields(["x": "y"]))
    peer.takeAll()
    #expect(peer.text == "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nab")
    #expect(peer.session.isFinished)
  }

  @Test func aClientOfHTTP10KeepsTheConnectionIfItAsksAndTheLengthIsKnown() {
    let peer = answering { $0.answer(200, HTTPFields(), body: [0x61]) }
    peer.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    peer.takeAll()
    #expect(peer.text == "HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: keep-alive\r\n\r\na")
    #expect(!peer.session.isFinished)
    peer.send("GET / HTTP/1.0\r\n\r\n")
    peer.takeAll()
    #expect(peer.text.hasSuffix("content-length: 1\r\nconnection: close\r\n\r\na"))
    #expect(peer.session.isFinished)
  }

  @Test(arguments: [204, 304])
  func aStatusWithoutABodyHasNone(status: Int) {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(Self.get)
    handler.responses[0].begin(status)
    peer.takeAll()
    handler.responses[0].send([0x61])
    handler.responses[0].end()
    peer.send(Self.get)
    handler.responses[1].answer(status, HTTPFields(), body: [0x61])
    peer.takeAll()
    let reason = status == 204 ? "No Content" : "Not Modified"
    #expect(peer.text == String(repeating: "HTTP/1.1 \(status) \(reason)\r\n\r\n", count: 2))
  }

  @Test func aResponseToHEADHasTheFieldsAndNoBody() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    let head = "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n"
    peer.send(head + head + head)
    handler.responses[0].answer(200, HTTPFields(), body: [0x61, 0x62])
    peer.takeAll()
    handler.responses[1].answer(200, HTTPFields(["content-length": "70"]), body: [])
    peer.takeAll()
    handler.responses[2].begin(200)
    peer.takeAll()
    handler.responses[2].send([0x61])
    handler.responses[2].end(HTTPFields(["x": "y"]))
    peer.takeAll()
    #expect(
      peer.text == "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 70\r\n\r\n"
        + "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
  }

  @Test func aHandlerCannotSplitTheResponseOrContradictItsFraming() {
    let peer = answering { response in
      var fields = HTTPFields([
        "content-length": "7", "transfer-encoding": "gzip", "date": "now", "x": "a\r\nset-cookie: b",
      ])
      fields.append(name: "y".utf8, value: [0x61, 0, 0x0A, 0xFF])
      response.answer(200, fields, body: [0x61])
    }
    peer.send(Self.get)
    peer.takeAll()
    let bytes = Array("HTTP/1.1 200 OK\r\nx: a  set-cookie: b\r\ny: a  ".utf8) + [0xFF]
    #expect(peer.output.starts(with: bytes))
    #expect(peer.text.hasSuffix("\r\ncontent-length: 1\r\n\r\na"))
  }

  @Test(arguments: [0, 100, 199, 600, -1])
  func aStatusThatEndsNoResponseIsAnError(status: Int) {
    let peer = answering { $0.answer(status, HTTPFields(), body: []) }
    peer.send(Self.get)
    peer.takeAll()
    #expect(peer.text == "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n")
  }

  @Test func outputIsTakenInPiecesOfTheWantedSize() {
    let body = (0..<10_000).map { UInt8(truncatingIfNeeded: $0) }
    let peer = answering { $0.answer(200, HTTPFields(), body: body) }
    peer.send(Self.get)
    var before = 0
    while peer.session.hasOutput {
      peer.take(bytesMax: 999)
      #expect(peer.output.count - before <= 999)
      before = peer.output.count
    }
    #expect(peer.output.suffix(10_000) == body[...])
  }

  @Test func callsAfterTheEndAreIgnored() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(Self.get)
    handler.responses[0].send([0x7A])
    handler.responses[0].end()
    #expect(!peer.session.hasOutput)
    handler.responses[0].answer(200, HTTPFields(), body: [0x61])
    handler.responses[0].answer(201, HTTPFields(), body: [0x62])
    handler.responses[0].send([0x63])
    handler.responses[0].abort()
    peer.takeAll()
    #expect(peer.text == "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na")
    #expect(!peer.session.isFinished)
  }

  // MARK: Requests

  @Test func aRequestReachesTheHandlerWithItsBody() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(Self.post)
    #expect(
      handler.events == [
        .request(method: "POST", target: "/a", authority: "h", fields: HTTPFields(["content-length": "3"])),
        .body(Array("abc".utf8)), .finish,
      ])
    #expect(peer.session.openRequests == 1)
  }

  @Test func requestsThatFollowAtOnceAreAnsweredOneAfterTheOther() {
    let handler = ScriptedHandler()
    let peer = SessionPeer(handler)
    peer.send(Self.post + Self.get + Self.post)
    for number in 0..<3 {
      #expect(handler.responses.count == number + 1)
      handler.responses[number].answer(200, HTTPFields(), body: Array("\(number)".utf8))
    }
    peer.takeAll()
    #expect(
      peer.text
        == (0..<3).map { "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n\($0)" }.joined())
    #expect(handler.events.count { $0 == .finish } == 3)
    #expect(peer.session.openRequests == 0)
  }

  @Test func manyRequestsThatAreAnsweredAtOnceDoNotDeepenTheStack() {
    let count = 5000
    let peer = answering { $0.answer(204, HTTPFields(), body: []) }
    peer.send(String(repeating: "GET / HTTP/1.1\r\nHost: h\r\n\r\n", count: count))
    peer.takeAll()
    #expect(peer.error == nil)
    #expect(peer.text.split(separator: "HTTP/1.1 204").count == count)
  }

  @Test func theBodyOfARequestThatWasAnsweredEarlyIsDropped() {
    let handler = ScriptedHandler { _, response in response.answer(403, HTTPFields(), body: []) }
    let peer = SessionPeer(handler)
    peer.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab")
    peer.send("c\r\n0\r\n\r\n" + Self.get)
    peer.takeAll()
    #expect(peer.text == String(repeating: "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n", count: 2))
    #expect(!handler.events.contains(.body(Array("abc".utf8))))
    #expect(!handler.events.contains(.cancel))
  }

  @Test func aClientThatWaitsForLeaveIsAnsweredWithContinue() {
    let handler = ScriptedHandler(finish: { response in response.answer(200, HTTPFields(), body: []) })
    let peer = SessionPeer(handler)
    peer.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
    peer.takeAll()
    #expect(peer.text == "HTTP/1.1 100 Continue\r\n\r\n")
    peer.send("a" + Self.get)
    peer.takeAll()
    #expect(
      peer.text == "HTTP/1.1 100 Continue\r\n\r\n"
        + String(repeating: "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", count: 2))
  }

  @Test func aRefusalBeforeTheLeaveEndsTheConnection() {
    let peer = answering { $0.answer(413, HTTPFields(), body: []) }
    peer.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nGET ")
    peer.takeAll()
    #expect(peer.text == "HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    #expect(peer.session.isFinished)
  }

  @Test(arguments: ["Connection: close\r\n", ""])
  func theConnectionEndsIfEitherSideSaysSo(field: String) {
    let handler = ScriptedHandler { _, response in
      response.answer(200, field.isEmpty ? HTTPFields(["connection": "close"]) : HTTPFields(), body: [])
    }
    let peer = SessionPeer(handler)
    peer.send("GET / HTTP/1.1\r\nHost: h\r\n\(field)\r\n" + Self.get)
    peer.takeAll()
    #expect(peer.text == "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    #expect(peer.session.isFinished)
    #expect(handler.responses.count == 1)
  }

  @Test func aMalformedRequestIsAnsweredAfterTheOnesBefore() {
    let peer = answering { $0.answer(200, HTTPFields(), body: []) }
    peer.send(Self.get + "GET / HTTP/1.1\r\nHost : h\r\n\r\n" + Self.get)
    peer.takeAll()
    #expect(
      peer.text == "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 400 Bad Request\r\n"
        + "content-type: text/plain; charset=utf-8\r\ncontent-length: 34\r\nconnection: close\r\n\r\n"
        + "The name of a field is malformed.\n")
    #expect(peer.session.isFinished)
    #expect(peer.error?.refusal == .malformed)
  }

  @Test func aCallOfGRPCGetsAnAnswerThatNamesTheVersion() {
    let peer = SessionPeer(CallHandler())
    peer.send(
      "POST /s/M HTTP/1.1\r\nHost: h\r\nContent-Type: application/grpc\r\nTE: trailers\r\n"
        + "Content-Length: 5\r\n\r\n\0\0\0\0\0" + Self.get)
    peer.takeAll()
    #expect(peer.text.hasPrefix("HTTP/1.1 505 HTTP Version Not Supported\r\n"))
    #expect(peer.text.contains("gRPC needs HTTP/2."))
  }

  private struct CallHandler: HTTPHandler, GRPCHandler {
    func begin(_ request: HTTPRequest, _ response: HTTPResponse) -> any HTTPBodyReceiver {
      GRPCExchange(request, response, handler: self, limits: HTTPLimits())
    }

    func begin(_ call: GRPCRequest, _ answer: GRPCAnswer) -> any GRPCReceiver { fatalError("a call began") }
  }

  private func answering(_ respond: @escaping @Sendable (HTTPResponse) -> Void) -> SessionPeer {
    SessionPeer(ScriptedHandler { _, response in respond(response) })
  }
}
