// Importing documents from a Firestore export.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct FirestoreExportTests {
  private let dugout = Program("dugout")

  /// Writes the files in the folder layout of `firebase emulators:export`.
  private func write(_ files: [[UInt8]], to folder: URL) throws -> String {
    let kinds = folder.appendingPathComponent("firestore_export/all_namespaces/all_kinds")
    try FileManager.default.createDirectory(at: kinds, withIntermediateDirectories: true)
    try Data("metadata".utf8).write(
      to: folder.appendingPathComponent("firestore_export/firestore_export.overall_export_metadata"))
    for (number, bytes) in files.enumerated() {
      try Data(bytes).write(to: kinds.appendingPathComponent("output-\(number)"))
    }
    return folder.path + "/firestore_export"
  }

  @Test func everyTypeOfValueIsImported() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    var writer = ExportWriter()
    writer.add(
      ["users", "ada", "posts", "__id7__"],
      [
        ("null", .null), ("yes", .boolean(true)), ("count", .integer(-3)), ("ratio", .double(.nan)),
        ("name", .text("Ada")), ("x-text", .text("not indexed")), ("raw", .bytes([0, 255])),
        ("born", .time(microseconds: -4_861_900_800_000_001)), ("home", .place(48.1, -11.6)),
        ("friend", .reference(app: "e~project", ["users", "bob"])), ("none", .array([])),
        ("list", .array([.integer(1), .map([("a", .array([.text("b")]))]), .null])),
        ("one", .array([.text("only")])),
        ("nested", .map([("deep", .map([("er", .integer(1))])), ("empty", .map([]))])),
        ("vector", .vector([1, 0.5])), ("inside", .map([("vector", .vector([-2]))])),
        (
          "map", .map([("__type__", .text("__vector__")), ("value", .array([.double(1), .integer(2)]))])
        ),
      ])
    let export = try write([writer.bytes], to: files.url)
    #expect(try dugout.run("import", folder.path, export).output == "1 document imported.\n")
    let outcome = try dugout.run("get", folder.path, "users/ada/posts/__id7__", "--json")
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
    let expected = """
      {"null": {"nullValue": null}, "yes": {"booleanValue": true}, "count": {"integerValue": "-3"},
       "ratio": {"doubleValue": "NaN"}, "name": {"stringValue": "Ada"}, "x-text": {"stringValue": "not indexed"},
       "raw": {"bytesValue": "AP8="}, "born": {"timestampValue": "1815-12-07T23:59:59.999999Z"},
       "home": {"geoPointValue": {"latitude": 48.1, "longitude": -11.6}},
       "friend": {"referenceValue": "projects/project/databases/(default)/documents/users/bob"},
       "none": {"arrayValue": {"values": []}}, "one": {"arrayValue": {"values": [{"stringValue": "only"}]}},
       "list": {"arrayValue": {"values": [{"integerValue": "1"}, {"mapValue": {"fields": {"a":
         {"arrayValue": {"values": [{"stringValue": "b"}]}}}}}, {"nullValue": null}]}},
       "nested": {"mapValue": {"fields": {"deep": {"mapValue": {"fields": {"er": {"integerValue": "1"}}}},
         "empty": {"mapValue": {"fields": {}}}}}},
       "vector": {"vectorValue": [1, 0.5]}, "map": {"vectorValue": [1, 2]},
       "inside": {"mapValue": {"fields": {"vector": {"vectorValue": [-2]}}}}}
      """
    let wanted = try #require(try JSONSerialization.jsonObject(with: Data(expected.utf8)) as? NSDictionary)
    let got = try #require(object["fields"] as? NSDictionary)
    var wrong: [String] = []
    for (name, value) in wanted where got[name] as? NSObject != value as? NSObject {
      wrong.append("\(name): \(got[name] as Any), not \(value)")
    }
    #expect(wrong == [])
    #expect(got.count == wanted.count)
  }

  /// Regression: fields with canonically equivalent names became one field.
  @Test func canonicallyEquivalentNamesStayDifferentFields() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    var writer = ExportWriter()
    writer.add(["c", "1"], [("e\u{301}", .integer(1)), ("\u{e9}", .array([.integer(2), .integer(3)]))])
    #expect(try dugout.run("import", folder.path, write([writer.bytes], to: files.url)).status == 0)
    let table = try dugout.run("export", folder.path, "-", "c", "--csv").output
    #expect(table.utf8.elementsEqual("path,e\u{301},\u{e9}\nc/1,1,\"[2,3]\"\n".utf8), "\(table)")
  }

  /// Blocks have 32 KiB, so most of these records span blocks.
  @Test func recordsAcrossBlocksAndFilesAreImportedInOrder() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    var writers = [ExportWriter(), ExportWriter(), ExportWriter()]
    var count = 0
    for place in writers.indices {
      for size in [10, 40_000, 32_700, 32_761 - 60, 3, 100_000] {
        writers[place].add(["c", "\(count)"], [("text", .text(String(repeating: "x", count: size)))])
        count += 1
      }
    }
    let export = try write(writers.map(\.bytes), to: files.url)
    let imported = try dugout.run("import", folder.path, export)
    #expect(imported.output == "\(count) documents imported.\n", "\(imported.complaint)")
    #expect(try dugout.run("query", folder.path, "c", "--count").output == "count  \(count)\n")
    // A single file can be imported, too.
    let alone = try TemporaryFolder()
    #expect(
      try dugout.run("import", alone.path, export + "/all_namespaces/all_kinds/output-2").output
        == "6 documents imported.\n")
  }

  @Test func aTruncatedOrDamagedExportKeepsEarlierDocumentsAndResumes() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    var writer = ExportWriter()
    for number in 0..<1500 { writer.add(["c", "\(number)"], [("n", .integer(Int64(number)))]) }
    var damaged = writer.bytes
    damaged[damaged.count - 30] ^= 1
    let export = try write([damaged], to: files.url)
    let refused = try dugout.run("import", folder.path, export)
    #expect(refused.status == 65)
    #expect(refused.complaint.contains("the checksum does not match the bytes: the file is damaged"))
    #expect(refused.complaint.contains("All documents before it were imported."))
    #expect(try dugout.run("query", folder.path, "c", "--count").output == "count  1499\n")
    _ = try write([writer.bytes], to: files.url)
    #expect(
      try dugout.run("import", folder.path, export).output == "1 document imported, 1499 by an earlier run.\n"
    )
    #expect(try dugout.run("query", folder.path, "c", "--count").output == "count  1500\n")

    _ = try write([Array(writer.bytes.dropLast(5))], to: files.url)
    let short = try dugout.run("import", folder.path, export)
    #expect(short.status == 65 && short.complaint.contains("it was cut off"), "\(short.complaint)")
    // A part of the next record's head is not the end, but zeros are.
    _ = try write([writer.bytes + writer.bytes.prefix(4)], to: files.url)
    let head = try dugout.run("import", folder.path, export, "--from-start")
    #expect(head.status == 65 && head.complaint.contains("it was cut off"), "\(head.complaint)")
    _ = try write([writer.bytes + [0, 0, 0]], to: files.url)
    #expect(
      try dugout.run("import", folder.path, export, "--from-start").output == "1500 documents imported.\n")
  }

  @Test func nestingOfRecordsIsBounded() throws {
    // Tests unterminated groups and nested maps.
    #expect(throws: ProtobufProblem.self) {
      try DatastoreEntity.document([UInt8](repeating: 0x0B, count: 100_000))
    }
    var wrong: [String] = []
    for (depth, reason) in [(30, "Maps and arrays may be nested 20 deep"), (500, "nested too deeply")] {
      let folder = try TemporaryFolder()
      let files = try TemporaryFolder()
      var writer = ExportWriter()
      let deep = (0..<depth).reduce(ExportWriter.Value.integer(1)) { value, _ in .map([("m", value)]) }
      writer.add(["c", "d"], [("f", deep)])
      let outcome = try dugout.run("import", folder.path, write([writer.bytes], to: files.url))
      if outcome.status != 65 || !outcome.complaint.contains(reason) { wrong.append("\(depth): \(outcome)") }
    }
    #expect(wrong == [])
  }

  @Test func invalidExportsAreRefusedWithoutATrap() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    #expect(try dugout.run("import", folder.path, files.path).complaint.contains("is not a Firestore export"))
    #expect(try dugout.run("import", folder.path, files.path).status == 65)
    var writer = ExportWriter()
    writer.append(record: [0x6A, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F])
    #expect(try dugout.run("import", folder.path, write([writer.bytes], to: files.url)).status == 65)
    // Tests random bytes of all lengths, a valid record with each single bit flipped, and all truncations of
    // the record.
    var random = SystemRandomNumberGenerator()
    for _ in 0..<2000 {
      let bytes = (0..<Int.random(in: 0...80)).map { _ in UInt8.random(in: 0...255, using: &random) }
      _ = try? DatastoreEntity.document(bytes)
    }
    var sound = ExportWriter()
    sound.add(
      ["c", "d"], [("a", .map([("b", .place(1, 2))])), ("l", .array([.integer(1), .time(microseconds: 5)]))])
    let record = Array(sound.bytes.dropFirst(7))
    for place in record.indices {
      for bit in 0..<8 {
        var changed = record
        changed[place] ^= 1 << UInt8(bit)
        _ = try? DatastoreEntity.document(changed)
      }
      _ = try? DatastoreEntity.document(Array(record.prefix(place)))
    }
  }
}
