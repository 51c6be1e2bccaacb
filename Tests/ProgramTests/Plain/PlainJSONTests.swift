// Imports of plain JSON: lines, lists, and objects over several lines.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct PlainJSONTests {
  private let dugout = Program("dugout")

  private func load(
    _ text: String, _ options: [String] = [], pipe: Bool = false
  ) throws -> (outcome: Program.Outcome, documents: [String]) {
    let folder = try TemporaryFolder()
    let (store, file) = (folder.path + "/store", folder.path + "/things.json")
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    let outcome = try dugout.run(
      ["import", store, pipe ? "-" : file, "--into", "things", "--create"] + options, input: pipe ? text : nil
    )
    let exported = try dugout.run("export", store, "-", "things", "--plain").output
    return (outcome, exported.split(separator: "\n").map(String.init))
  }

  private let objects = [
    #"{"id":"a","address":{"city":"Paris","tags":[1,2.5,"x",null,{"b":true}]},"big":9007199254740993}"#,
    #"{"id":"b","empty":{},"none":null,"whole":3.0}"#,
  ]

  @Test func everyArrangementOfObjectsIsRead() throws {
    let spread = objects.map { $0.replacing(",", with: ",\n ").replacing("{", with: "{\n ") }
    var wrong: [String] = []
    let lines = objects.joined(separator: "\n")
    let list = "[" + objects.joined(separator: ",") + "]"
    let texts: [String] = [
      lines, lines.replacing("\n", with: "\r\n") + "\r\n\r\n", "\u{FEFF}\(lines)", list, "\u{FEFF}\(list)",
      "[\n\(spread[0]) ,\n\(spread[1])\n]\n", " [ \(objects[0])\n,\(objects[1]) ] ",
      spread.joined(separator: "\n"),
      spread.joined(),
    ]
    for text in texts {
      for pipe in [false, true] {
        let (outcome, documents) = try load(text, ["--id", "id"], pipe: pipe)
        if documents != objects || outcome.output != "2 documents imported.\n" {
          wrong.append("\(pipe) \(text): \(outcome) \(documents)")
        }
      }
    }
    #expect(wrong == [])
    #expect(try load("[]").outcome.output == "0 documents imported.\n")
  }

  /// Regression: such a file became a table whose only column had the name of the stray text.
  @Test func aStrayLineOfAJSONFileIsNoTable() throws {
    let (outcome, documents) = try load("hello\n{\"a\":1}\n")
    #expect(outcome.status == 65 && documents == [], "\(outcome)")
    #expect(outcome.complaint.contains("line 1"), "\(outcome)")
  }

  @Test func theTypesAreShownBeforeTheImport() throws {
    let text =
      #"{"id":1,"a":{"b":1},"t":"2026-03-01T12:00:00Z","l":[]}"# + "\n" + #"{"id":2,"a":{"b":"x"},"n":null}"#
    let shown = try load(text, ["--id", "id"]).outcome.complaint.split(separator: "\n")
    #expect(shown.first?.hasSuffix("things.json: Lines of JSON, types in 2 objects") == true, "\(shown)")
    #expect(
      shown.dropFirst().map { $0.split(separator: "  ").map { $0.trimmingCharacters(in: .whitespaces) } } == [
        ["a.b", "integer, string"], ["id", "the document's id"], ["l", "array"],
        ["t", "string", "looks like a time, which --time makes it"], ["n", "null"],
      ])
  }

  @Test func givenTypesApplyInsideOfMapsAndArrays() throws {
    let text =
      #"{"id":"a","m":{"t":"2026-03-01"},"l":["1","2"],"v":[1,2],"p":{"lat":48.1,"lng":11.6},"z":7,"r":"users/b"}"#
    let folder = try TemporaryFolder()
    let options = [
      "--id", "id", "--time", "m.t", "--type", "l=integer", "--type", "v=vector", "--type", "p=geopoint",
      "--type", "z=string", "--type", "r=reference",
    ]
    let outcome = try dugout.run(["import", folder.path, "-", "--into", "c"] + options, input: text)
    #expect(outcome.status == 0, "\(outcome.complaint)")
    let path = try DocumentPath(["c", "a"])
    try folder.changeStore { store in
      let fields = try #require(try store.document(at: path)?.fields)
      let time = try #require(StoredTimestamp(seconds: 1_772_323_200, nanoseconds: 0))
      #expect(fields["m"] == .map(StoredMap([("t", .timestamp(time))])))
      #expect(fields["l"] == .array([.integer(1), .integer(2)]) && fields["v"] == .vector([1, 2]))
      #expect(fields["p"] == StoredGeoPoint(latitude: 48.1, longitude: 11.6).map { .geoPoint($0) })
      let reference = DocumentJSON.ownReference(try DocumentPath(["users", "b"]))
      #expect(fields["z"] == .string("7") && fields["r"] == .reference(reference))
      #expect(fields.count == 6)
    }
    let unseen = try load(#"{"a":1}"#, ["--type", "b=string"]).outcome.output
    #expect(unseen.contains("No document has the field b, which has the type string."), "\(unseen)")
  }

  @Test func problemsNameTheLineAndTheField() throws {
    var wrong: [String] = []
    for (text, options, part) in [
      (
        #"{"a":[[1]]}"#, [],
        "line 1: in the field a: an array contains another array, which a document cannot hold"
      ),
      ("{\"a\":1}\n{\"a\":{\"b\":[1,[2]]}}", [], "line 2: in the field a.b: an array contains another array"),
      (
        #"{"a":12345678901234567890}"#, [],
        "in the field a: 12345678901234567890 is not an integer of 64 bits: --type"
      ),
      (#"{"a":1e999}"#, [], "1e999 is too large for a double"),
      ("{\"a\":1}\n5\n", [], "line 2: this is not a JSON object."),
      ("{\"a\":1}\n{\"a\":", [], "line 2: this is not a JSON object: the text ends too early"),
      ("{\"a\":1}\n{\"a\":", [], "The file ends in the middle of this object"),
      ("[{\"a\":1},\n{\"a\":1}", [], "line 2: the list has no end: the file was cut off"),
      ("[{\"a\":1}\n{\"a\":1}]", [], "line 2: a comma or the end of the list is expected before this"),
      ("[{\"a\":1}]\n[", [], "line 2: there is more text after the list"),
      ("[{\"a\":1},]", [], "this is not a JSON object"),
      ("[{\"a\":1},\n[2]]", [], "line 2: this is not a JSON object"),
      (#"{"a":"x"}"#, ["--type", "a=integer"], "in the field a: \"x\" is not an integer of 64 bits"),
      (#"{"b":1}"#, ["--id", "a"], "there is no field a, which has the ids of the documents"),
      (
        #"{"a":1.5}"#, ["--id", "a"],
        "the field a has the ids of the documents, and is neither a string nor an integer"
      ),
      (#"{"a":"x/y"}"#, ["--id", "a"], "\"x/y\" cannot be the id of a document"),
      (#"{"a":""}"#, ["--id", "a"], "\"\" cannot be the id of a document: a name must not be empty"),
    ] as [(String, [String], String)] {
      let outcome = try load(text, options).outcome
      if outcome.status != 65 || !outcome.complaint.contains(part) { wrong.append("\(part): \(outcome)") }
    }
    #expect(wrong == [])
  }

  @Test func anIDInsideOfAMapIsTakenOutOfIt() throws {
    let (_, documents) = try load(#"{"key":{"id":7,"kind":"x"},"n":1}"#, ["--id", "key.id"])
    #expect(documents == [#"{"id":"7","key":{"kind":"x"},"n":1}"#])
    #expect(try load(#"{"key":{"id":7},"n":1}"#, ["--id", "key.id"]).documents == [#"{"id":"7","n":1}"#])
  }

  /// An item may be split by the end of a chunk anywhere.
  @Test func itemsAreReadInPiecesOfAPipe() throws {
    let folder = try TemporaryFolder()
    let store = folder.path + "/store"
    let text = String(repeating: "y\\\"{[", count: 20_000)
    // Each element is longer than a piece of a pipe, and all together are longer than a chunk.
    let script = """
      (printf '['; for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do test $n = 1 || printf ','; \
      printf '{"id":%s,"t":"' $n; cat '\(folder.path)/text'; printf '"}'; done; printf ']') \
      | '\(dugout.path)' import '\(store)' - --into c --id id
      """
    try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path + "/text"))
    let outcome = try Program(path: "/bin/sh").run("-c", script)
    #expect(outcome.output == "15 documents imported.\n", "\(outcome.complaint.suffix(500))")
    try TemporaryFolder.open(store) { store in
      let fields = try #require(try store.document(at: DocumentPath(["c", "15"]))?.fields)
      #expect(fields["t"] == .string(text.replacing("\\\"", with: "\"")))
    }
  }
}
