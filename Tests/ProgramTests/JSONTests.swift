// JSON as the program reads and writes it.

import DocumentStore
import Foundation
import Harness
import Testing

@testable import dugout

@Suite struct JSONTests {
  private func read(_ text: String) throws -> JSON { try JSONReader.read(Data(text.utf8)) }

  @Test(arguments: [
    "null", "true", "[]", "{}", #"[1,-0,0.5,-1.5e-300,12345678901234567890]"#, #"{"a":{"b":[{"c":"d"}]}}"#,
    #""\"\\\n\r\t\u0001/é😀""#, "{\"e\u{301}\":1,\"\u{e9}\":2}",
  ])
  func jsonRoundTrips(_ text: String) throws {
    #expect(try read(text).description.utf8.elementsEqual(text.utf8), "\(text)")
  }

  /// JSON allows the last two characters unescaped, but a terminal would execute them.
  @Test func controlCharactersAreEscapedInJSON() throws {
    let text = "a\u{1B}[2J\u{7}\u{7F}\u{9B}°é"
    let written = JSON.string(text).description
    #expect(written == #""a\u001b[2J\u0007\u007f\u009b°é""#)
    #expect(try read(written).text == text)
  }

  @Test func escapesAndWhitespaceAreParsed() throws {
    #expect(try read(" { \"\\u0061\" : [ 1 ,\t2 ] }\r\n").description == #"{"a":[1,2]}"#)
    #expect(try read(#""\ud83d\ude00\u00e9\/\b\f""#).text == "😀\u{e9}/\u{8}\u{c}")
  }

  @Test(arguments: [
    "", " ", "{", "[1", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "nul", "nulL", "+1", "01", "1.",
    ".5", "1e",
    "\"", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u+123\"", "\"\\ud83d\"", "\"\\ud83dx\"", "\"\\udc00\"",
    "\"\\ud83d\\u0041\"",
    "\"a\nb\"", "1 2", "{\"a\":1,\"a\":2}", "NaN", "-",
  ])
  func invalidJSONIsRefused(_ text: String) {
    #expect(throws: JSONError.self, "\(text)") { try read(text) }
  }

  @Test(
    arguments: [
      [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0x5C, 0x6E, 0xED, 0xA0, 0x80, 0x22],
    ] as [[UInt8]])
  func invalidUTF8IsRefused(bytes: [UInt8]) {
    #expect(throws: JSONError.self) { try JSONReader.read(Data(bytes)) }
  }

  @Test func aByteOrderMarkIsIgnored() throws {
    #expect(try read("\u{FEFF}{\"a\": \"\u{FEFF}\"}").description == "{\"a\":\"\u{FEFF}\"}")
    #expect { try read("\u{FEFF}{\"a\" 1}") } throws: { "\($0)" == "a colon is expected at byte 8" }
    #expect(throws: JSONError.self) { try read("\u{FEFF}") }
    #expect(throws: JSONError.self) { try read("\u{FEFF}\u{FEFF}1") }
  }

  @Test func theNestingDepthIsBounded() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(try read(nested(256)).description == nested(256))
    #expect(throws: JSONError.self) { try read(nested(257)) }
    #expect(throws: JSONError.self) { try read(String(repeating: "[", count: 1_000_000)) }
  }

  @Test func parseErrorsReportTheirOffset() {
    #expect { try read(#"{"a": 1, "b" 2}"#) } throws: { "\($0)" == "a colon is expected at byte 13" }
    // The error reports the first name that is repeated.
    #expect {
      try read(#"{"d": 1, "b": 2, "c": 3, "b": 4, "d": 5, "e": 6}"#)
    } throws: {
      "\($0)" == "\"b\" appears twice in the object at byte 25"
    }
  }

  @Test func allValuesOfADocumentRoundTrip() throws {
    var generator = DocumentGenerator(seed: 9)
    var wrong: [String] = []
    for document in generator.documents(60) {
      let line = DocumentJSON.object(of: document).description
      let read = try #require(try DocumentJSON.document(Data(line.utf8)))
      if read.path != document.path || read.fields != document.fields {
        wrong.append("\(read.path): \(line)")
      }
    }
    #expect(wrong == [])
  }

  @Test func aPendingTimestampRoundTripsWithItsPreviousValue() throws {
    func read(_ value: String) throws -> StoredValue? {
      try DocumentJSON.document(Data(#"{"path": "a/b", "fields": {"t": \#(value)}}"#.utf8))?.fields["t"]
    }
    let time = StoredTimestamp(seconds: 1_767_323_045, nanoseconds: 678_000_000)
    let inside = StoredValue.map(StoredMap([("a", .array([.string("b")]))]))
    var wrong: [String] = []
    for previous in [nil, StoredValue.null, .integer(7), inside] {
      let value = StoredValue.pendingTimestamp(try #require(time), previous: previous)
      let copy = try read(DocumentJSON.object(of: value).description)
      if copy != value { wrong.append("\(value): \(String(describing: copy))") }
    }
    #expect(wrong == [])
    let pending = #""pendingTimestampValue": "2026-01-02T03:04:05Z""#
    let deep = String(repeating: #"{"mapValue": {"fields": {"a": "#, count: 25)
    let end = String(repeating: "}}}", count: 25)
    let long = String(repeating: "a", count: 2 << 20)
    func maps(_ count: Int, _ inside: String) -> String {
      String(repeating: #"{"mapValue": {"fields": {"a": "#, count: count) + inside
        + String(repeating: "}}}", count: count)
    }
    func waiting(_ previous: String) -> String { #"{\#(pending), "previousValue": \#(previous)}"# }
    // Each of the values alone fits in a document, although together they do not.
    let large = waiting(#"{"stringValue": "\#(String(repeating: "a", count: 700 << 10))"}"#)
    _ = try read(#"{"mapValue": {"fields": {"a": \#(large), "b": \#(large)}}}"#)
    _ = try read(waiting(maps(10, waiting(maps(10, #"{"nullValue": null}"#)))))
    // Values that no record can hold, and values that exceed the limits.
    let refused = [
      "7", "{\(pending)}", #"{"arrayValue": {"values": [{"arrayValue": {}}]}}"#,
      #"\#(deep){"nullValue": null}\#(end)"#, #"{"stringValue": "\#(long)"}"#,
      maps(18, waiting(maps(5, #"{"nullValue": null}"#))), maps(1, waiting(#"{"stringValue": "\#(long)"}"#)),
    ]
    let accepted = refused.filter { previous in
      !(thrown { _ = try read(#"{\#(pending), "previousValue": \#(previous)}"#) } is JSONProblem)
    }
    #expect(accepted == [])
    #expect(throws: JSONProblem.self) { try read(#"{\#(pending), "stringValue": "a"}"#) }
    #expect(throws: JSONProblem.self) { try read(#"{"pendingTimestampValue": "soon"}"#) }
    #expect(throws: JSONProblem.self) { try read(#"{"previousValue": {"nullValue": null}}"#) }
  }

  @Test func canonicallyEquivalentNamesAreSeparateColumns() throws {
    let dugout = Program("dugout")
    let folder = try TemporaryFolder()
    let line =
      "{\"path\":\"a/b\",\"fields\":{\"e\u{301}\":{\"integerValue\":\"1\"},\"\u{e9}\":{\"integerValue\":\"2\"}}}\n"
    try line.write(toFile: folder.path + "/in.jsonl", atomically: true, encoding: .utf8)
    let store = folder.path + "/store"
    #expect(try dugout.run("import", store, folder.path + "/in.jsonl").status == 0)
    #expect(try dugout.run("export", store, "-", "--csv").output == "path,e\u{301},\u{e9}\na/b,1,2\n")
    let lines = try dugout.run("export", store, "-").output
    let fields = try #require(try read(lines)["fields"])
    #expect(fields.members?.map { Array($0.name.utf8) } == [Array("e\u{301}".utf8), Array("\u{e9}".utf8)])
  }
}
