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
  func whatIsReadIsWrittenAsItWas(_ text: String) throws {
    #expect(try read(text).description.utf8.elementsEqual(text.utf8), "\(text)")
  }

  @Test func escapesAndSpacesAreRead() throws {
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
  func whatIsNoJSONIsRefused(_ text: String) {
    #expect(throws: JSONError.self, "\(text)") { try read(text) }
  }

  @Test func textThatIsNoUTF8IsRefused() {
    for bytes: [UInt8] in [
      [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0x5C, 0x6E, 0xED, 0xA0, 0x80, 0x22],
    ] {
      #expect(throws: JSONError.self) { try JSONReader.read(Data(bytes)) }
    }
  }

  @Test func depthIsBounded() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(try read(nested(256)).description == nested(256))
    #expect(throws: JSONError.self) { try read(nested(257)) }
    #expect(throws: JSONError.self) { try read(String(repeating: "[", count: 1_000_000)) }
  }

  @Test func anErrorSaysWhere() {
    #expect { try read(#"{"a": 1, "b" 2}"#) } throws: { "\($0)" == "a colon is expected at byte 13" }
  }

  @Test func allValuesOfADocumentComeBack() throws {
    var generator = DocumentGenerator(seed: 9)
    for document in generator.documents(60) {
      let line = DocumentJSON.object(of: document).description
      // What a write is waiting for is no value yet.
      if line.contains("pendingTimestampValue") { continue }
      let read = try DocumentJSON.document(Data(line.utf8))
      #expect(read.path == document.path)
      #expect(read.fields == document.fields, "\(line)")
    }
  }

  @Test func namesThatLookAlikeAreColumnsOfTheirOwn() throws {
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
