// Requests from bytes: the same events for every split, and refusals of everything ambiguous.

import ByteStore
import Harness
import Testing

@testable import HTTPTransport

@Suite struct HTTP1ParserTests {
  // MARK: Splits

  @Test(arguments: 0..<streams.count)
  func everySplitOfTheBytesGivesTheSameEvents(number: Int) {
    let bytes = Array(streams[number].utf8)
    let whole = ParsedBytes(bytes)
    #expect(ParsedBytes(bytes, splitAt: Array(1..<max(1, bytes.count))) == whole)
    for first in 0..<bytes.count {
      #expect(ParsedBytes(bytes, splitAt: [first]) == whole, "split at \(first)")
    }
    for first in stride(from: 0, to: bytes.count, by: 7) {
      for second in stride(from: first + 1, to: bytes.count, by: 5) {
        #expect(ParsedBytes(bytes, splitAt: [first, second]) == whole, "split at \(first) and \(second)")
      }
    }
  }

  // MARK: Requests

  @Test func aHeadIsParsedWithoutFieldsOfTheConnection() throws {
    let head = try head(
      "POST /v1/a?b=%20 HTTP/1.1\r\nHOST: localhost:80\r\nX-Goog-Api-Client: \t a b\t \r\nEmpty:\r\n"
        + "Connection: Keep-Alive, upgrade\r\nUpgrade: h2c\r\nContent-Length: 007\r\nExpect: 100-Continue\r\n\r\n"
    )
    #expect(head.method == "POST")
    #expect(head.target == "/v1/a?b=%20")
    #expect(head.authority == "localhost:80")
    #expect(
      head.fields == HTTPFields(["x-goog-api-client": "a b", "empty": "", "content-length": "007"]))
    #expect(head.body == .length(7))
    #expect(head.expectsContinue)
    #expect(head.keepsAlive)
  }

  @Test(arguments: [
    ("GET /a HTTP/1.1\r\nHost: a\r\n\r\n", "/a", "a"),
    ("GET http://B:8080 HTTP/1.1\r\nHost: b:8080\r\n\r\n", "/", "B:8080"),
    ("GET HTTPS://a/x?y HTTP/1.1\r\nHost: a\r\n\r\n", "/x?y", "a"),
    ("GET http://a?y=/ HTTP/1.1\r\nHost: a\r\n\r\n", "/?y=/", "a"),
    ("GET http://[::1]:1/ HTTP/1.0\r\n\r\n", "/", "[::1]:1"),
    ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "*", "a"),
    ("GET //a/../b HTTP/1.1\r\nHost:\r\n\r\n", "//a/../b", ""),
  ])
  func targetsOfAllFormsGiveAPathAndAHost(text: String, target: String, authority: String) throws {
    let head = try head(text)
    #expect(head.target == target)
    #expect(head.authority == authority)
  }

  @Test(arguments: [
    ("HTTP/1.1", "", true), ("HTTP/1.1", "Connection: close\r\n", false),
    ("HTTP/1.1", "Connection: x , CLOSE\r\n", false), ("HTTP/1.0", "", false),
    ("HTTP/1.0", "Connection: keep-alive\r\n", true), ("HTTP/1.9", "", true),
    ("HTTP/1.0", "Connection: keep-alive\r\nConnection: close\r\n", false),
  ])
  func theConnectionStaysAsTheVersionAndTheFieldSay(version: String, field: String, keepsAlive: Bool) throws {
    #expect(try head("GET / \(version)\r\nHost: a\r\n\(field)\r\n").keepsAlive == keepsAlive)
  }

  @Test func oneEmptyLineBeforeARequestIsIgnored() {
    let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    #expect(ParsedBytes(("\r\n" + request).utf8) == ParsedBytes(request.utf8))
    #expect(ParsedBytes(("\r\n\r\n" + request).utf8).refusal?.status == 400)
  }

  // MARK: Refusals

  @Test(arguments: malformed)
  func aMalformedRequestIsRefused(text: String, status: Int) {
    let parsed = ParsedBytes(text.utf8)
    #expect(parsed.refusal?.status == status)
    #expect(!parsed.events.contains { if case .end = $0 { true } else { false } })
  }

  @Test func noControlCharacterIsAcceptedAnywhere() {
    for byte in UInt8.min...UInt8.max where byte < 0x20 || byte == 0x7F {
      for prefix in ["", "G", "GET /", "GET / HTTP/1.1", "GET / HTTP/1.1\r\nHo", "GET / HTTP/1.1\r\nHost: a"]
      {
        let bytes = Array(prefix.utf8) + [byte] + Array("\r\nHost: b\r\n\r\n".utf8)
        let isBlankInValue = byte == 0x09 && prefix.hasSuffix("Host: a")
        // The line feed after the carriage return that follows would begin the next line.
        guard byte != 0x0D, !isBlankInValue else { continue }
        #expect(ParsedBytes(bytes).refusal?.status == 400, "\(byte) after '\(prefix)'")
      }
    }
  }

  @Test func onlyCharactersOfTokensAreAcceptedInNames() {
    for byte in UInt8.min...UInt8.max {
      let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nx".utf8) + [byte] + Array("y: z\r\n\r\n".utf8)
      let text = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:"
      #expect((ParsedBytes(bytes).refusal == nil) == Array(text.utf8).contains(byte), "\(byte)")
    }
  }

  @Test func valuesMayHaveBytesThatAreNotASCII() throws {
    let bytes =
      Array("GET / HTTP/1.1\r\nHost: a\r\nx: ".utf8) + [0x80, 0xFF, 0x09, 0x20, 0xC3, 0x0D, 0x0A, 0x0D, 0x0A]
    let parsed = ParsedBytes(bytes)
    guard case .head(let head)? = parsed.events.first else { return #expect(Bool(false)) }
    #expect(head.fields.bytes(of: "x").map(Array.init) == [0x80, 0xFF, 0x09, 0x20, 0xC3])
  }

  // MARK: Limits

  @Test func aHeadOfTheMaximumSizeIsAcceptedAndOneByteMoreIsNot() {
    var limits = HTTPLimits()
    limits.headerBytesMax = 64
    let start = "GET / HTTP/1.1\r\nHost: a\r\nx: "
    let value = String(repeating: "y", count: 64 - start.utf8.count - 4)
    #expect(ParsedBytes((start + value + "\r\n\r\n").utf8, limits).refusal == nil)
    let refusal = ParsedBytes((start + value + "y\r\n\r\n").utf8, limits).refusal
    #expect(refusal?.status == 431)
    #expect(refusal?.refusal == .headerSize)
  }

  @Test func anEndlessLineIsRefusedAtTheLimit() {
    var parser = HTTP1Parser(HTTPLimits())
    let line = [UInt8](repeating: UInt8(ascii: "a"), count: 20_000)
    var position = 0
    #expect(throws: HTTP1Refusal.self) { _ = try parser.next(line.rawSpan, at: &position) }
    #expect(position == HTTPLimits().headerBytesMax + 1)
  }

  @Test func theNumberOfFieldsIsLimited() {
    let fields = String(repeating: "x: y\r\n", count: 99)
    let start = "GET / HTTP/1.1\r\nHost: a\r\n"
    #expect(ParsedBytes((start + fields + "\r\n").utf8).refusal == nil)
    #expect(ParsedBytes((start + fields + "x: y\r\n\r\n").utf8).refusal?.status == 431)
  }

  @Test(arguments: [
    "11", "00000000000000000000000000011", "99999999999999999999999999", "18446744073709551617",
  ])
  func aLengthAboveTheLimitIsRefusedBeforeTheBody(length: String) {
    var limits = HTTPLimits()
    limits.bodyBytesMax = 10
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: "
    #expect(ParsedBytes((head + "10\r\n\r\n0123456789").utf8, limits).refusal == nil)
    let refused = ParsedBytes((head + length + "\r\n\r\n").utf8, limits)
    #expect(refused.refusal?.status == 413)
    #expect(refused.refusal?.refusal == .messageSize)
    #expect(refused.events.isEmpty)
  }

  private func head(_ text: String) throws -> HTTP1Head {
    let parsed = ParsedBytes(text.utf8)
    if let refusal = parsed.refusal { throw refusal }
    guard case .head(let head)? = parsed.events.first else { throw HTTP1Refusal.malformed("no head") }
    return head
  }
}

/// Streams of several requests, some with an end that is refused.
private let streams = [
  "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n",
  "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\r\nPUT / HTTP/1.1\r\nHost: a\r\n\r\n",
  "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\n\r\nG",
  "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0;z\r\nT: u\r\nV:\r\n\r\nX / HTTP/1.1\n",
  "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
  "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\nGET / HTTP/1.1\r\nHost : a\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
]

private let start = "POST / HTTP/1.1\r\nHost: a\r\n"
private let chunked = start + "Transfer-Encoding: chunked\r\n\r\n"

private let malformed: [(String, Int)] = [
  // Request lines.
  ("GET /\r\n\r\n", 400), ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
  (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
  ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400), ("GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n", 400),
  ("GET / http/1.1\r\nHost: a\r\n\r\n", 400), ("GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400),
  ("GET / HTTP/11\r\nHost: a\r\n\r\n", 400), ("G:T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
  ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
  ("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET /\u{E9} HTTP/1.1\r\nHost: a\r\n\r\n", 400),
  ("GET http:// HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET http://a@b/ HTTP/1.1\r\nHost: b\r\n\r\n", 400),
  ("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n", 400),
  ("GET http://a\\@b/ HTTP/1.1\r\nHost: b\r\n\r\n", 400), ("\u{16}\u{3}\u{1}", 400),
  ("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 501),
  (String(repeating: "A", count: 33) + " / HTTP/1.1\r\nHost: a\r\n\r\n", 501),
  ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505), ("GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505),
  // Lines.
  ("GET / HTTP/1.1\nHost: a\n\n", 400), ("GET / HTTP/1.1\r\nHost: a\n\r\n", 400),
  ("GET / HTTP/1.1\rHost: a\r\r", 400), ("GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", 400),
  ("GET / HTTP/1.1\r\nHost: a\r\nX: b\rc\r\n\r\n", 400),
  // Names and values of fields.
  ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\n\tb\r\n\r\n", 400),
  ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost\r\n\r\n", 400),
  ("GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\nX\u{E9}: b\r\n\r\n", 400),
  // Hosts.
  ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", 400),
  ("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
  ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400),
  ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
  // Lengths and codings.
  (start + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", 400),
  (start + "Content-Length: 1, 1\r\n\r\na", 400),
  (start + "Content-Length: +1\r\n\r\na", 400), (start + "Content-Length: -1\r\n\r\na", 400),
  (start + "Content-Length: 0x1\r\n\r\na", 400), (start + "Content-Length:\r\n\r\na", 400),
  (start + "Content-Length: 1 1\r\n\r\na", 400), (start + "Content-Length: \u{661}\r\n\r\na", 400),
  (start + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
  (start + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n", 400),
  (start + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
  (start + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", 400),
  (start + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
  (start + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 501),
  (start + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
  (start + "Transfer-Encoding: identity\r\n\r\n", 501),
  (start + "Transfer-Encoding: \"chunked\"\r\n\r\n", 501), (start + "Transfer-Encoding:\r\n\r\n", 501),
  (start + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400),
  (start + "Transfer-Encoding: \u{B}chunked\r\n\r\n0\r\n\r\n", 400),
  ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
  (start + "Expect: 200-ok\r\n\r\n", 417),
  // Chunks.
  (chunked + "\r\n", 400), (chunked + "g\r\n", 400), (chunked + "-1\r\n", 400),
  (chunked + "0x1\r\na\r\n", 400),
  (chunked + "1 \r\na\r\n0\r\n\r\n", 400), (chunked + " 1\r\na\r\n0\r\n\r\n", 400), (chunked + ";x\r\n", 400),
  (chunked + "1\na\n0\n\n", 400), (chunked + "1\ra\na\r\n0\r\n\r\n", 400),
  (chunked + "1\r;\na\r\n0\r\n\r\n", 400), (chunked + "1\r\nab\r\n0\r\n\r\n", 400),
  (chunked + "1\r\na0\r\n\r\n", 400),
  (chunked + "1\r\na\n0\r\n\r\n", 400), (chunked + "1;a\nb\r\na\r\n0\r\n\r\n", 400),
  (chunked + "0000000000000001\r\na\r\n0\r\n\r\n", 400), (chunked + "0\r\nX: a\nY: b\r\n\r\n", 400),
  (chunked + "0\r\n\r\r\n\r\n", 400), (chunked + "fffffffffffffff\r\n", 413),
]
