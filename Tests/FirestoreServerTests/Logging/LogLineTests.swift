// Lines of the log: one for each request, and nothing in them that a client could use to forge others.

import ByteStore
import FirestoreWire
import Testing

@testable import FirestoreServer
@testable import HTTPTransport

@Suite struct LogLineTests {
  @Test func aRequestHasALine() throws {
    let server = try TestServer()
    _ = try server.call("Commit", TestServer.commit("rooms/secret-name", 1))
    let line = try #require(server.lines.all.last)
    #expect(
      line.hasPrefix(#"{"time":"2030-01-01T00:00:00.000000Z","level":"info","event":"request","request":""#))
    for part in [
      #""connection":1"#, #""peer":"127.0.0.1""#, #""protocol":"grpc""#, #""method":"Commit""#,
      #""database":"projects/demo-shop/databases/(default)""#, #""code":"OK""#, #""seconds":0.0"#,
      #""bytes_received":"#, #""bytes_sent":"#,
    ] {
      #expect(line.contains(part), "\(part) is not in \(line)")
    }
    #expect(!line.contains("secret-name"))
  }

  @Test func theIDOfARequestIsInItsAnswerAndItsLine() throws {
    let server = try TestServer()
    let first = try #require(server.get("/v1/\(TestServer.documents)/rooms/a").fields["x-request-id"])
    let second = try #require(server.get("/v1/\(TestServer.documents)/rooms/a").fields["x-request-id"])
    #expect(first != second)
    #expect(server.lines.all[0].contains(#""request":"\#(first)""#))
    #expect(server.lines.all[1].contains(#""request":"\#(second)""#))
  }

  @Test func textsFromClientsAreNotInLines() throws {
    let server = try TestServer.secured()
    let secrets = [
      "s3cret-query", "s3cret-token-0123456789", "s3cret-document", "s3cret-method", "s3cret-host",
    ]
    _ = server.get("/v1/\(TestServer.documents)/rooms/s3cret-document?key=s3cret-query") {
      $0.authorize("s3cret-token-0123456789")
    }
    _ = server.get("/v1/\(TestServer.documents)/rooms/s3cret-document?key=s3cret-query") { $0.authorize() }
    _ = server.call("s3cret-method", []) { $0.authorize() }
    _ = server.get("/s3cret-method") { $0.authority = "s3cret-host" }
    _ = server.get("/v1/projects/s3cret-method\n/databases/x/documents/a/b") { $0.authorize() }
    #expect(server.lines.all.count >= 5)
    for line in server.lines.all {
      for secret in secrets + [TestServer.secret] { #expect(!line.contains(secret), "\(line)") }
    }
  }

  @Test func controlCharactersAreEscapedInBothForms() {
    let forged = "a\r\n2030 error\u{1B}[31m\u{0}\u{7F}\u{85}\u{2028}\u{202E}\u{200B}\"\\ é"
    for format in [ServerLog.Format.json, .text] {
      let lines = LogLines()
      lines.log(format).line(.info, "test", fields: [("text", .text(forged))], at: 0)
      let line = lines.all[0]
      #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }, "\(line)")
      for scalar: Unicode.Scalar in ["\u{85}", "\u{2028}", "\u{202E}", "\u{200B}", "\u{1B}"] {
        #expect(!line.unicodeScalars.contains(scalar), "\(line)")
      }
      #expect(line.contains("é"))
      #expect(line.contains("u{d}"))
    }
  }

  @Test func longTextsAreCut() {
    let lines = LogLines()
    lines.log(.text).line(
      .info, "test", fields: [("text", .text(String(repeating: "a", count: 100_000)))], at: 0)
    #expect(lines.all[0].utf8.count < 500)
  }

  @Test func textLinesHaveWordsAndValues() {
    let lines = LogLines()
    lines.log(.text).line(
      .warning, "refused",
      fields: [
        ("reason", .text("a b")), ("empty", .text("")), ("count", .integer(3)),
        ("seconds", .duration(1_500_000_000)),
      ],
      at: 1_893_456_000_123_456)
    #expect(
      lines.all == [
        #"2030-01-01T00:00:00.123456Z warning refused reason="a b" empty="" count=3 seconds=1.500000"#
      ]
    )
  }

  @Test func jsonLinesAreJSON() throws {
    let lines = LogLines()
    lines.log(.json).line(
      .error, "test",
      fields: [("text", .text("\"\\\u{1}")), ("large", .integer(.max)), ("seconds", .duration(1))],
      at: 0)
    let bytes = Array(lines.all[0].utf8)
    var reader = try JSONReader(bytes.rawSpan)
    try reader.skip()
    try reader.finish()
  }

  @Test func numbersArePlainDecimals() {
    for format in [ServerLog.Format.json, .text] {
      let lines = LogLines()
      lines.log(format).line(
        .info, "test", fields: [("seconds", .duration(7_999)), ("bytes", .integer(.max))], at: 1)
      #expect(lines.all[0].contains("0.000007"), "\(lines.all[0])")
      #expect(lines.all[0].contains("18446744073709551615"), "\(lines.all[0])")
      #expect(lines.all[0].contains("1970-01-01T00:00:00.000001Z"), "\(lines.all[0])")
    }
  }

  @Test func sentencesAreWholeAndHaveTheFormOfTheLog() {
    let lines = LogLines()
    lines.log(.json).note(.warning, #"a "b"\c"# + "\n" + String(repeating: "d", count: 1000), at: 250_000)
    let text = #"a \"b\"\\c\\u{a}"# + String(repeating: "d", count: 1000)
    let time = "1970-01-01T00:00:00.250000Z"
    #expect(lines.all == [#"{"time":"\#(time)","level":"warning","event":"note","text":"\#(text)"}"#])
  }

  @Test func withoutALogNothingIsWritten() {
    ServerLog.none.line(.info, "test", fields: [], at: 0)
    #expect(!ServerLog.none.isOn)
  }
}
