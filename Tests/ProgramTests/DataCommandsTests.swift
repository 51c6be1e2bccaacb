// Documents on the command line: written, listed, asked for, taken elsewhere and back.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct DataCommandsTests {
  private let dugout = Program("dugout")

  private func object(_ outcome: Program.Outcome) throws -> [String: Any] {
    #expect(outcome.status == 0, "\(outcome.complaint)")
    return try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
  }

  private func fill(_ folder: borrowing TemporaryFolder) throws {
    try #require(dugout.run("set", folder.path, "users/ada", "{name: \"Ada\", age: 36}").status == 0)
    try #require(dugout.run("set", folder.path, "users/bob", "{name: \"Bob\", age: 17.5}").status == 0)
    try #require(dugout.run("set", folder.path, "users/ada/posts/1", "{likes: 3}").status == 0)
    try #require(dugout.run("set", folder.path, "rooms/eros", "{topic: \"love, \\\"true\\\"\"}").status == 0)
  }

  @Test func whatIsSetIsListedQueriedAndDeleted() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    #expect(try dugout.run("ls", folder.path).output == "rooms  1 document\nusers  2 documents\n")
    #expect(try dugout.run("ls", folder.path, "users/ada").output == "users/ada/posts  1 document\n")
    let query = "users where age > 17 order by age desc limit 5"
    let table = try dugout.run("query", folder.path, query)
    #expect(table.output == "id   age   name\nada  36    Ada\nbob  17.5  Bob\n2 documents\n")
    let documents =
      try object(dugout.run("query", folder.path, query, "--json"))["documents"] as? [[String: Any]]
    #expect(documents?.compactMap { $0["path"] as? String } == ["users/ada", "users/bob"])
    #expect(
      try dugout.run("query", folder.path, "group posts", "--sum", "likes", "--count").output
        == "count  1\nsum_likes  3\n")
    #expect(try object(dugout.run("explain", folder.path, query, "--json"))["results"] as? Int == 2)

    #expect(try dugout.run("set", folder.path, "users/ada", "{city: \"London\"}", "--merge").status == 0)
    #expect(try dugout.run("get", folder.path, "users/ada").output.contains("name: \"Ada\""))
    #expect(try dugout.run("delete", folder.path, "users/ada").status == 0)
    #expect(try dugout.run("delete", folder.path, "users/ada").status == 1)
    #expect(try dugout.run("delete", folder.path, "users", "--query").output == "1 document deleted.\n")
    #expect(try dugout.run("ls", folder.path).output == "rooms  1 document\n")
  }

  @Test func indexesAreMadeListedAndDropped() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    #expect(try dugout.run("index", "create", folder.path, "users", "name", "age:desc").status == 0)
    #expect(try dugout.run("index", "list", folder.path).output == "users(name, age desc)  2 entries\n")
    #expect(try dugout.run("index", "drop", folder.path, "users", "name").status == 1)
    #expect(try dugout.run("index", "drop", folder.path, "users", "name", "age:desc").status == 0)
    #expect(try dugout.run("index", "list", folder.path).output == "no indexes but that of the names\n")
    #expect(try dugout.run("index", "make", folder.path).status == 2)
  }

  @Test func whatIsExportedComesBackAsItWas() throws {
    let folder = try TemporaryFolder()
    let other = try TemporaryFolder()
    let files = try TemporaryFolder()
    let lines = files.path + "/all.jsonl"
    try fill(folder)
    let every =
      #"{a: null, b: [1, 1.0, {c: bytes("AQID")}], d: timestamp("2026-01-02T03:04:05.678Z"), e: nan, f: vector(1)}"#
    #expect(try dugout.run("set", folder.path, "all/types", every).status == 0)
    #expect(try dugout.run("export", folder.path, lines).output == "5 documents in \(lines)\n")
    #expect(try dugout.run("import", other.path, lines).output == "5 documents imported.\n")
    #expect(try FileManager.default.contentsOfDirectory(atPath: files.path) == ["all.jsonl"])
    for path in ["all/types", "users/ada", "users/ada/posts/1", "rooms/eros"] {
      let before = try object(dugout.run("get", folder.path, path, "--json"))["fields"] as? NSDictionary
      let after = try object(dugout.run("get", other.path, path, "--json"))["fields"] as? NSDictionary
      #expect(before == after && before != nil)
    }
    let table = try dugout.run("export", folder.path, "-", "rooms", "--csv")
    #expect(table.output == "path,topic\nrooms/eros,\"love, \"\"true\"\"\"\n")
  }

  @Test func anImportThatIsCutOffKeepsWhatItWroteAndGoesOn() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    let path = files.path + "/lines"
    let line = { (number: Int) in #"{"path":"c/\#(number)","fields":{"n":{"integerValue":"\#(number)"}}}"# }
    let good = (0..<1200).map(line)
    let bad = #"{"path":"c/x","fields":{"n":{"integerValue":"many"}}}"#
    try Data((good + [bad] + (1200..<1500).map(line)).joined(separator: "\n").utf8)
      .write(to: URL(fileURLWithPath: path))
    let refused = try dugout.run("import", folder.path, path)
    #expect(refused.status == 65)
    let place = good.joined(separator: "\n").utf8.count + 1
    #expect(refused.complaint.contains("byte \(place): in the field n: many is no integerValue."))
    #expect(try dugout.run("query", folder.path, "c", "--count").output == "count  1200\n")
    // Of the same length, so that it is taken for the same file.
    let mended = #"{"path":"c/x","fields":{"n":{"integerValue":"0001"}}}"#
    try Data((good + [mended] + (1200..<1500).map(line)).joined(separator: "\n").utf8)
      .write(to: URL(fileURLWithPath: path))
    #expect(
      try dugout.run("import", folder.path, path).output
        == "301 documents imported, 1200 by an earlier run.\n")
    #expect(try dugout.run("query", folder.path, "c", "--count").output == "count  1501\n")
    #expect(try dugout.run("import", folder.path, path).output == "1501 documents imported.\n")
  }

  @Test func anImportGoesOnOnlyWithWhatItHasBegunAndWhereItIsStillThere() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    let path = files.path + "/lines"
    let line = { (name: String, number: Int) in
      #"{"path":"\#(name)/\#(number)","fields":{"n":{"integerValue":"\#(number)"}}}"#
    }
    func write(_ name: String, isGood: Bool) throws {
      let lines = (0..<1000).map { line(name, $0) } + [isGood ? "  " : "no"]
      try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: path))
    }
    try write("a", isGood: false)
    #expect(try dugout.run("set", folder.path, "z/z", "{}").status == 0)
    let older = files.path + "/older"
    try FileManager.default.copyItem(atPath: folder.path, toPath: older)
    #expect(try dugout.run("import", folder.path, path).status == 65)
    // The same size, and other documents.
    try write("b", isGood: true)
    #expect(try dugout.run("import", folder.path, path).output == "1000 documents imported.\n")
    #expect(try dugout.run("query", folder.path, "b", "--count").output == "count  1000\n")
    // The store as it was before.
    try write("a", isGood: false)
    #expect(try dugout.run("import", folder.path, path).status == 65)
    try FileManager.default.removeItem(atPath: folder.path)
    try FileManager.default.copyItem(atPath: older, toPath: folder.path)
    try write("a", isGood: true)
    #expect(try dugout.run("import", folder.path, path).output == "1000 documents imported.\n")
    #expect(try dugout.run("query", folder.path, "a", "--count").output == "count  1000\n")
  }

  @Test func badInputIsNamed() throws {
    let folder = try TemporaryFolder()
    #expect(try dugout.run("ls", folder.path + "/nowhere").status == 69)
    #expect(try dugout.run("set", folder.path, "users", "{}").status == 2)
    #expect(try dugout.run("set", folder.path, "users/a", "[1]").status == 2)
    #expect(try dugout.run("set", folder.path, "users/a", "{a: }").status == 2)
    #expect(
      try dugout.run("query", folder.path, "users", "--sum").complaint.contains("--sum FIELD needs a value"))
    #expect(try dugout.run("ls", folder.path, "--limit", "no").status == 2)
    #expect(try dugout.run("import", folder.path, folder.path + "/none").status == 74)
  }
}
