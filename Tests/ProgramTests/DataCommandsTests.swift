// Documents on the command line: written, listed, queried, exported and imported.

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

  @Test func aSetDocumentIsListedQueriedAndDeleted() throws {
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
    #expect(
      try dugout.run("delete", folder.path, "users", "--query", "--yes").output
        == "1 document deleted.\n")
    // Subcollections of the deleted document still exist.
    #expect(
      try dugout.run("ls", folder.path).output == "rooms  1 document\nusers/ada/posts  1 document\n")
  }

  @Test func queriesFindDocumentsByName() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    var wrong: [String] = []
    for (query, found) in [
      ("users where __name__ >= \"b\"", ["users/bob"]), ("users where __name__ in [\"ada\"]", ["users/ada"]),
      ("users order by __name__ desc", ["users/bob", "users/ada"]),
      ("group posts where __name__ >= \"users/ada/posts/1\"", ["users/ada/posts/1"]),
      ("group posts where __name__ > \"users/ada/posts/1\"", []),
    ] {
      let documents =
        try object(dugout.run("query", folder.path, query, "--json"))["documents"] as? [[String: Any]]
      let paths = documents?.compactMap { $0["path"] as? String }
      if paths != found { wrong.append("\(query): \(String(describing: paths))") }
    }
    #expect(wrong == [])
    let help = try dugout.run("query", "--help").output.split(whereSeparator: \.isWhitespace)
      .joined(separator: " ")
    #expect(help.contains("__name__ is the id of a document, where __name__ >= \"a\""), "\(help)")
  }

  /// Regression: if several sums were requested, only the last sum was printed.
  @Test func severalFieldsAreSummedAtOnce() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    try #require(dugout.run("set", folder.path, "users/ada", "{visits: 2}", "--merge").status == 0)
    try #require(dugout.run("set", folder.path, "users/bob", "{visits: 3}", "--merge").status == 0)
    let sums = ["--sum", "age", "--sum=visits", "--average", "age", "--average", "visits"]
    #expect(
      try dugout.run(["query", folder.path, "users"] + sums).output
        == "sum_age  53.5\nsum_visits  5\navg_age  26.75\navg_visits  2.5\n")
    let object = try object(dugout.run(["query", folder.path, "users", "--count", "--json"] + sums))
    #expect(object.keys.sorted() == ["avg_age", "avg_visits", "count", "sum_age", "sum_visits"])
    #expect(
      try dugout.run("query", folder.path, "users", "--sum", "age", "--sum=age").output == "sum_age  53.5\n")
    let six = ["a", "b", "c", "d", "e", "f"].flatMap { ["--sum", $0] }
    let refused = try dugout.run(["query", folder.path, "users"] + six)
    #expect(refused.status == 2 && refused.complaint.contains("has 6 aggregates, and the limit is 5."))
  }

  /// Regression: the tree listed a merging step next to the steps that it merges, instead of above them.
  @Test func aPlanIsPrintedAsATree() throws {
    let folder = try TemporaryFolder()
    try folder.changeStore { store in
      try store.commit(
        try (0..<300).map { number in
          let fields = StoredMap([
            ("a", .integer(Int64(number % 10))), ("b", .integer(Int64(number % 7))),
            ("n", .integer(Int64(number))),
          ])
          return .set(try DocumentPath(["c", "d\(number)"]), fields)
        })
    }
    func tree(_ query: String) throws -> String {
      let outcome = try dugout.run("explain", folder.path, query)
      #expect(outcome.status == 0, "\(outcome.complaint)")
      return outcome.output.replacing(#/ in \d+\.\d+ ms/#, with: "")
    }
    #expect(
      try tree("c where a == 3") == """
        30 results from 30 index entries and 30 documents
        ├─ built the index c(a)
        └─ through the index c(a)

        """)
    #expect(
      try tree("c where a in [1, 2]") == """
        60 results from 60 index entries and 60 documents
        ├─ built the index c(a)
        └─ merged in order
           ├─ through the index c(a)
           └─ through the index c(a)

        """)
    #expect(
      try tree("c where a in [1, 2] and __name__ == \"d1\"") == """
        1 result from 0 index entries and 2 documents
        └─ the matches are sorted
           └─ each document is examined
              └─ all of these
                 ├─ a document by its name
                 └─ a document by its name

        """)
    #expect(
      try tree("c where a > 3 and n < 100") == """
        60 results from 180 index entries and 180 documents
        ├─ built the index c(a, n)
        └─ each document is examined
           └─ through the index c(a, n)

        """)
    #expect(try tree("c") == "300 results from 300 index entries and 300 documents\n└─ through the names\n")
    let nothing = "0 results from 0 index entries and 0 documents\n└─ nothing can match\n"
    #expect(try tree("c where a == 3 and a == 4") == nothing)
  }

  /// Regression: without a document version/1, ls reported no collections.
  @Test func collectionsBelowMissingDocumentsAreListed() throws {
    let folder = try TemporaryFolder()
    for path in [
      "version/1/user/ada", "version/1/user/bob", "version/1/user/ada/posts/1", "version/2/user/cy",
      "version/2/user/dan/user/eve", "rooms/eros",
    ] {
      try #require(dugout.run("set", folder.path, path, "{}").status == 0)
    }
    let deeper =
      "version/1/user  2 documents\nversion/2/user  1 document\nversion/2/user/dan/user  1 document\n"
    #expect(try dugout.run("ls", folder.path).output == "rooms  1 document\n" + deeper)
    let version = try dugout.run("ls", folder.path, "version").output
    #expect(version == "no documents, but collections below:\n" + deeper)
    #expect(try dugout.run("ls", folder.path, "version/1").output == "version/1/user  2 documents\n")
    let ada = try dugout.run("ls", folder.path, "version/1/user/ada").output
    #expect(ada == "version/1/user/ada/posts  1 document\n")
    #expect(try dugout.run("ls", folder.path, "version/3").output == "no collections\n")
    #expect(try dugout.run("ls", folder.path, "nothing").output == "no documents\n")
    let shell = try dugout.run(["shell", folder.path], input: "ls\n")
    #expect(shell.output == "rooms  1 document\n" + deeper, "\(shell.complaint)")

    let all = try object(dugout.run("ls", folder.path, "--json"))
    #expect((all["collections"] as? [[String: Any]])?.map { $0["path"] as? String } == ["rooms"])
    #expect((all["deeper"] as? [[String: Any]])?.map { $0["documents"] as? Int } == [2, 1, 1])
    #expect(all["deeperIsComplete"] as? Bool == true)
    let below = try object(dugout.run("ls", folder.path, "version", "--json"))
    #expect((below["deeper"] as? [[String: Any]])?.count == 3 && below["count"] as? Int == 0)

    let query = try dugout.run("query", folder.path, "user where age > 3").output
    #expect(
      query == "no documents; there is no collection user, but there is version/1/user. "
        + "\"group user\" queries all collections with that id.\n")
    #expect(try dugout.run("query", folder.path, "rooms where age > 3").output == "no documents\n")
  }

  @Test func listingOfCollectionsBelowMissingDocumentsIsBounded() throws {
    let folder = try TemporaryFolder()
    try folder.changeStore { store in
      let count = max(UnreachableCollections.foundMax, UnreachableCollections.lookedAtMax) + 1
      var mutations: [Mutation] = []
      for number in 0..<count {
        mutations.append(.set(try DocumentPath(["users", "u\(number)", "posts", "1"]), StoredMap()))
      }
      try store.commit(mutations)
    }
    let outcome = try dugout.run("ls", folder.path)
    let lines = outcome.output.split(separator: "\n")
    #expect(lines.count == UnreachableCollections.foundMax + 1, "\(outcome.complaint)")
    #expect(lines.last?.hasPrefix("and perhaps more: the query \"group posts\"") == true)
    #expect(try object(dugout.run("ls", folder.path, "--json"))["deeperIsComplete"] as? Bool == false)
  }

  @Test func indexesAreCreatedListedAndDropped() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    #expect(try dugout.run("index", "create", folder.path, "users", "name", "age:desc").status == 0)
    #expect(try dugout.run("index", "list", folder.path).output == "users(name, age desc)  2 entries\n")
    #expect(try dugout.run("index", "drop", folder.path, "users", "name").status == 1)
    #expect(try dugout.run("index", "drop", folder.path, "users", "name", "age:desc").status == 0)
    #expect(try dugout.run("index", "list", folder.path).output == "no indexes except that of the names\n")
    // No commits are left to flush.
    #expect(try dugout.run("index", "create", folder.path, "users", "age:desc", "name").status == 0)
    #expect(try dugout.run("index", "list", folder.path).output == "users(age, name desc)  2 entries\n")
    #expect(try dugout.run("index", "drop", folder.path, "users", "age", "name:desc").status == 0)
    #expect(try dugout.run("index", "list", folder.path).output == "no indexes except that of the names\n")
    #expect(try dugout.run("index", "make", folder.path).status == 2)
  }

  @Test func anExportRoundTripsThroughAnImport() throws {
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
    var wrong: [String] = []
    for path in ["all/types", "users/ada", "users/ada/posts/1", "rooms/eros"] {
      let before = try object(dugout.run("get", folder.path, path, "--json"))["fields"] as? NSDictionary
      let after = try object(dugout.run("get", other.path, path, "--json"))["fields"] as? NSDictionary
      if before != after || before == nil {
        wrong.append("\(path): \(String(describing: before)), \(String(describing: after))")
      }
    }
    #expect(wrong == [])
    let table = try dugout.run("export", folder.path, "-", "rooms", "--csv")
    #expect(table.output == "path,topic\nrooms/eros,\"love, \"\"true\"\"\"\n")
  }

  @Test func aFileMayStartWithAByteOrderMark() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/lines"
    let mark = "\u{FEFF}"
    let store = folder.path + "/store"
    try Data((mark + #"{"path": "a/b"}"# + "\n" + mark + "\n" + #"{"path": "a/c"}"#).utf8)
      .write(to: URL(fileURLWithPath: path))
    #expect(try dugout.run("import", store, path).output == "2 documents imported.\n")
    try Data((mark + #"{"path": "a/d"}"# + "\nno").utf8).write(to: URL(fileURLWithPath: path))
    #expect(
      try dugout.run("import", store, path).complaint.contains(", line 2: the line is not a JSON object"))
  }

  @Test func anImportBuffersAtMostALineAndAChunk() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/lines"
    let long = String(repeating: "x", count: 3 << 20)
    let lines = (0..<60_000).map { "line \($0) " + String(repeating: "-", count: 100) } + [long, "", "last"]
    try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: path))
    let reader = try LineReader(path)
    #expect(reader.bytes > 9 << 20)
    var most = 0
    var place: UInt64 = 0
    var wrong: [String] = []
    for line in lines {
      let read = try #require(try reader.next())
      guard read.count == line.utf8.count, read.elementsEqual(line.utf8), reader.lineStart == place else {
        Issue.record("the line at byte \(place) was read wrong")
        return
      }
      place = min(place + UInt64(line.utf8.count) + 1, reader.bytes)
      if reader.bytesDone != place { wrong.append("byte \(place): \(reader.bytesDone) bytes done") }
      if line.hasPrefix("line") { most = max(most, reader.bytesHeld) }
    }
    #expect(wrong == [])
    #expect(try reader.next() == nil)
    // The reader holds at most one chunk and the start of a line from the previous chunk.
    #expect(most <= 2 << 20)
    #expect(reader.bytesHeld <= 5 << 20)
  }

  /// Regression: "where age > 3" without quotes created a file called 3, and the usage did not mention
  /// quotes.
  @Test func aQuerySplitByTheShellGetsAHintAboutQuotes() throws {
    var wrong: [String] = []
    for line in ["query data users where age", "export data - users limit 3"] {
      let arguments = line.split(separator: " ").map(String.init)
      let outcome = try dugout.run(arguments)
      if outcome.status != 2 || !outcome.complaint.contains("]\nPut a query in quotes, so that")
        || !outcome.complaint.contains("--help\" has details.")
      {
        wrong.append("\(line): \(outcome)")
      }
    }
    #expect(wrong == [])
    #expect(try !dugout.run("query", "data").complaint.contains("quotes"))
    #expect(try !dugout.run("get", "data", "users/ada", "users/bob").complaint.contains("quotes"))
  }

  @Test func anEndlessLineIsNotBuffered() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/lines"
    let long = String(repeating: "x", count: 5 << 20)
    try Data("first\n\(long)".utf8).write(to: URL(fileURLWithPath: path))
    let reader = try LineReader(path, lineBytesMax: 2 << 20)
    #expect(try reader.next()?.elementsEqual("first".utf8) == true)
    let problem = #expect(throws: JSONProblem.self) { try reader.next() }
    #expect(problem?.message == "the line is longer than 2 MiB, and no document is")
    #expect(reader.lineStart == 6 && reader.lineNumber == 2)
    #expect(reader.bytesHeld <= 4 << 20)
  }

  /// Regression: after a complete import, the pipe was opened again, and the import waited forever for
  /// another writer.
  @Test func anImportFromAPipeEndsWithThePipe() throws {
    let folder = try TemporaryFolder()
    let script = """
      cd '\(folder.path)' && mkfifo pipe && (echo '{"path": "a/1", "fields": {}}' > pipe & \
      timeout 30 '\(dugout.path)' import store pipe)
      """
    let outcome = try Program(path: "/bin/sh").run("-c", script)
    #expect(outcome.status == 0, "\(outcome.output)\(outcome.complaint)")
    #expect(outcome.output.contains("1 document imported"))
  }

  /// Earlier releases exported references in this form. After an import, no query matched these references.
  @Test func aReferenceWithoutAProjectUsesTheDefaultDatabase() {
    let named = DocumentJSON.reference("projects/dugout/databases/(default)/documents/users/ada")
    #expect(named != nil && DocumentJSON.reference("projects//databases//documents/users/ada") == named)
  }

  @Test func anInterruptedImportKeepsItsDocumentsAndResumes() throws {
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
    #expect(refused.complaint.contains("line 1201: in the field n: many is not of type integerValue."))
    #expect(try dugout.run("query", folder.path, "c", "--count").output == "count  1200\n")
    let mended = #"{"path":"c/x","fields":{"n":{"integerValue":"1"}}}"#
    try Data((good + [mended] + (1200..<1500).map(line)).joined(separator: "\n").utf8)
      .write(to: URL(fileURLWithPath: path))
    #expect(
      try dugout.run("import", folder.path, path).output
        == "301 documents imported, 1200 by an earlier run.\n")
    #expect(try dugout.run("query", folder.path, "c", "--count").output == "count  1501\n")
    #expect(try dugout.run("import", folder.path, path).output == "1501 documents imported.\n")
  }

  @Test func anImportResumesOnlyWithAnUnchangedFileAndStore() throws {
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
    // The file has the same size as before but contains different documents.
    try write("b", isGood: true)
    #expect(try dugout.run("import", folder.path, path).output == "1000 documents imported.\n")
    #expect(try dugout.run("query", folder.path, "b", "--count").output == "count  1000\n")
    // The store is replaced by an older copy between two imports.
    try write("a", isGood: false)
    #expect(try dugout.run("import", folder.path, path).status == 65)
    try FileManager.default.removeItem(atPath: folder.path)
    try FileManager.default.copyItem(atPath: older, toPath: folder.path)
    try write("a", isGood: true)
    #expect(try dugout.run("import", folder.path, path).output == "1000 documents imported.\n")
    #expect(try dugout.run("query", folder.path, "a", "--count").output == "count  1000\n")
  }

  @Test func misleadingArgumentsGetAHint() throws {
    let folder = try TemporaryFolder()
    let store = folder.path + "/store"
    func complaint(_ words: String..., status: Int32 = 2) throws -> String {
      let outcome = try dugout.run(words)
      #expect(outcome.status == status, "\(words)")
      return outcome.complaint
    }
    try #require(dugout.run("set", store, "users/ada", "{name: \"Ada\"}").status == 0)
    let fields = "the fields of a document look like {name: \"Ada\", age: 36}."
    #expect(try complaint("set", store, "users/eve", "name=Eve").contains(fields))
    #expect(try complaint("set", store, "users/eve").contains("\"dugout set --help\" has details."))
    let option = try complaint("query", store, "users", "--where", "age > 1")
    #expect(option.contains("no option --where") && option.contains("\"dugout query --help\" has details."))
    #expect(try complaint("get", store, "users").contains("\"dugout ls\" lists the documents"))
    #expect(try complaint("delete", store, "users where name == \"Ada\"").contains("add --query"))
    #expect(try complaint("index", "create", store, "users/ada/posts", "n").contains("such as posts"))
    #expect(try complaint("import", store, store, status: 65).contains("is a store. \"dugout export"))
    #expect(try complaint("export", store, folder.path, status: 74).contains("is a directory: name a file"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["store"])
    #expect(
      try dugout.run("query", store, "user").output
        == "no documents; there is no collection user. Did you mean users?\n")
    #expect(
      try dugout.run("query", store, "group posts").output
        == "no documents; there is no collection posts. \"dugout ls\" lists those that exist.\n")
    #expect(try dugout.run("query", store, "users where age > 3").output == "no documents\n")
    #expect(try dugout.run("query", store, "user", "--json").output == "{\"documents\":[]}\n")
  }

  @Test func anOptionsValueMayFollowAnEqualsSign() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    let two = try dugout.run("ls", folder.path, "users", "--limit", "1").output
    #expect(two.hasSuffix("1 of 2 documents; more with --limit\n"), "\(two)")
    #expect(try dugout.run("ls", folder.path, "users", "--limit=1").output == two)
    #expect(try dugout.run("query", folder.path, "users", "--sum=age", "--count").output.contains("count  2"))
    let none = try dugout.run("ls", folder.path, "--json=yes")
    #expect(none.status == 2 && none.complaint.contains("--json takes no value."), "\(none.complaint)")
    let unknown = try dugout.run("ls", folder.path, "--limits=1").complaint
    #expect(unknown.contains("there is no option --limits=1."), "\(unknown)")
    var wrong: [String] = []
    for (words, option) in [
      (["ls", folder.path, "--limit="], "--limit"), (["bench", folder.path, "--documents="], "--documents"),
    ] {
      let empty = try dugout.run(words)
      let said = "\(option) needs a whole number above 0, such as \(option) 5, not \"\"."
      if empty.status != 2 || !empty.complaint.contains(said) { wrong.append("\(words): \(empty)") }
    }
    #expect(wrong == [])
    let shell = try dugout.run(["shell", folder.path], input: "ls users --limit=1\n")
    #expect(shell.output == two, "\(shell.complaint)")
  }

  // MARK: Parts of a document

  /// Returns the fields as `get` prints them.
  private func fields(_ directory: String, _ path: String) throws -> [String] {
    let outcome = try dugout.run("get", directory, path)
    #expect(outcome.status == 0, "\(outcome.complaint)")
    return outcome.output.split(separator: "\n").dropFirst().dropLast().map {
      $0.trimmingCharacters(in: .whitespaces)
    }
  }

  @Test func fieldsAreDeletedAndIncrementedInOneCommit() throws {
    let folder = try TemporaryFolder()
    let whole = #"{name: "Ada", age: 36, address: {city: "London", zip: 1}, `a.b`: 1, n: "text"}"#
    try #require(dugout.run("set", folder.path, "users/ada", whole).status == 0)
    let parts = try dugout.run(
      "set", folder.path, "users/ada", "--delete", "address.city", "--increment", "age=1", "--increment",
      "`a.b`=-2.5", "--delete=name")
    #expect(parts.status == 0 && parts.output.hasPrefix("users/ada was written at "), "\(parts.complaint)")
    let left = ["a.b: -1.5", "address:", "zip: 1", "age: 37", "n: \"text\""]
    #expect(try fields(folder.path, "users/ada") == left)
    let both = try dugout.run(
      "set", folder.path, "users/ada", "{city: \"Paris\", address: {street: 2}}", "--increment", "n=2",
      "--increment=new=5", "--delete", "age", "--delete", "`a.b`", "--delete", "address.zip", "--delete",
      "nothing")
    #expect(both.status == 0, "\(both.complaint)")
    let changed = ["address:", "street: 2", "city: \"Paris\"", "n: 2", "new: 5"]
    #expect(try fields(folder.path, "users/ada") == changed)
    #expect(try object(dugout.run("stat", folder.path, "--json"))["lastCommit"] as? Int == 3)
  }

  @Test func documentFieldsCanBeChangedInTheShell() throws {
    let folder = try TemporaryFolder()
    let lines = "set users/ada {age: 1, `a b`: 2}\nset users/ada --increment age=1 --delete `a b`\n"
    var wrong: [String] = []
    for (line, said) in [
      ("set users/ada", "line 3: usage: set PATH [FIELDS] [--merge]"),
      ("set users/ada --delete", "line 3: --delete FIELD… needs a value."),
    ] {
      try #require(dugout.run("set", folder.path, "users/ada", "{age: 1, `a b`: 2}").status == 0)
      let outcome = try dugout.run(["shell", folder.path], input: lines + line + "\n")
      if outcome.status != 2 || !outcome.complaint.contains(said) { wrong.append("\(line): \(outcome)") }
    }
    #expect(wrong == [])
    #expect(try fields(folder.path, "users/ada") == ["age: 2"])
  }

  /// Missing documents are treated as in Firestore's merge and update.
  @Test func setCreatesAMissingDocumentUnlessItOnlyDeletesFields() throws {
    let folder = try TemporaryFolder()
    try #require(dugout.run("set", folder.path, "users/ada", "{}").status == 0)
    let removed = try dugout.run("set", folder.path, "users/eve", "--delete", "age")
    #expect(removed.status == 1)
    #expect(
      removed.complaint
        == "dugout set: there is no document users/eve of which a field could be removed. Nothing was written.\n"
    )
    #expect(try dugout.run("get", folder.path, "users/eve").status == 1)
    #expect(try dugout.run("set", folder.path, "users/eve", "--increment", "visits=3").status == 0)
    #expect(try fields(folder.path, "users/eve") == ["visits: 3"])
    #expect(try dugout.run("set", folder.path, "users/bob", "{}", "--delete", "age").status == 0)
    #expect(try fields(folder.path, "users/bob") == [])
    // If the user mistypes the store's path, the command must not create a store there.
    let none = folder.path + "/none"
    #expect(try dugout.run("set", none, "users/ada", "--delete", "age").status == 69)
    #expect(!FileManager.default.fileExists(atPath: none))
    let created = try dugout.run("set", none, "users/ada", "--increment", "age=1")
    #expect(created.status == 0 && created.complaint == "Created a new store in \(none).\n", "\(created)")
  }

  @Test func invalidFieldsAndNumbersAreReported() throws {
    let folder = try TemporaryFolder()
    let city = "{address: {city: \"London\"}, age: 1}"
    try #require(dugout.run("set", folder.path, "users/ada", city).status == 0)
    let field =
      " needs a field, such as age or address.city; a name with other characters needs backticks. "
    let number = "--increment needs a field and a number of 64 bits, such as --increment age=1"
    let wrong: [(words: [String], said: String)] = [
      (["--delete", "a..b"], "--delete\(field)Invalid field path (a..b)."),
      (["--delete", "`a"], "--delete\(field)Invalid field path (`a)."), (["--delete="], "--delete\(field)"),
      (["--delete", "tags[0]"], "must not contain"), (["--delete"], "needs a value."),
      (["--delete", " age"], "There are blanks in \" age\"."),
      (["--increment", "age = 1"], "There are blanks in \"age \"."),
      (["--delete", "__name__"], "cannot begin and end with"),
      (["--increment", "=1"], "--increment\(field)"),
      (["--increment", "age"], number + " or --increment balance=-2.5, not \"age\"."),
      (["--increment", "age="], number), (["--increment", "age=many"], number),
      (["--increment", "age=\"1\""], number), (["--increment", "age=nan"], number),
      (["--increment", "age=1e999"], number), (["--increment", "age=99999999999999999999"], number),
      (["--increment", "age=1", "--increment", "age=2"], "age is named twice: name each field once."),
      (["--increment", "age=1", "--delete", "age"], "age is named twice"),
      (["{address: {city: 1}}", "--delete", "address"], "address.city lies in address, and both are named"),
      (
        ["--delete", "address", "age"], "Each further field to remove or to add to needs its own option."
      ),
    ]
    var failures: [String] = []
    for (words, said) in wrong {
      let outcome = try dugout.run(["set", folder.path, "users/ada"] + words)
      if outcome.status != 2 || !outcome.complaint.contains(said) {
        failures.append("\(words): \(outcome)")
      }
    }
    #expect(failures == [])
    #expect(try fields(folder.path, "users/ada") == ["address:", "city: \"London\"", "age: 1"])
    #expect(try dugout.run("query", folder.path, "users", "--sum=").complaint.contains("--sum\(field)"))
  }

  @Test func anIndexWithARepeatedFieldIsRefused() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    var wrong: [String] = []
    for fields in [["age", "age"], ["age", "name", "age:desc"]] {
      let outcome = try dugout.run(["index", "create", folder.path, "users"] + fields)
      if outcome.status != 2 || !outcome.complaint.contains("age appears twice") {
        wrong.append("\(fields): \(outcome)")
      }
    }
    #expect(wrong == [])
    #expect(try dugout.run("index", "list", folder.path).output == "no indexes except that of the names\n")
    #expect(try dugout.run("index", "create", folder.path, "users", "tags[]", "tags").status == 0)
  }

  @Test func fieldsAreNestedUpToTheLimitOfDocuments() throws {
    let folder = try TemporaryFolder()
    func set(_ depth: Int, _ form: (String, String)) throws -> Program.Outcome {
      let text = String(repeating: form.0, count: depth) + "1" + String(repeating: form.1, count: depth)
      return try dugout.run(["set", folder.path, "c/d", "-"], input: "{f: \(text)}")
    }
    var wrong: [String] = []
    for form in [("{m: ", "}"), ("[{m: ", "}]")] {
      let perLevel = form.0.count { "[{".contains($0) }
      let status = try set(20 / perLevel, form).status
      if status != 0 { wrong.append("\(form), \(20 / perLevel): \(status)") }
      for depth in [20 / perLevel + 1, 99, 101, 10_000 / perLevel] {
        let outcome = try set(depth, form)
        if outcome.status != 2 || !outcome.complaint.contains("Maps and arrays may be nested 20 deep") {
          wrong.append("\(form), \(depth): \(outcome)")
        }
      }
    }
    #expect(wrong == [])
  }

  @Test func invalidInputIsReported() throws {
    let folder = try TemporaryFolder()
    #expect(try dugout.run("ls", folder.path + "/nowhere").status == 69)
    #expect(try dugout.run("set", folder.path, "users", "{}").status == 2)
    #expect(try dugout.run("set", folder.path, "users/a", "[1]").status == 2)
    #expect(try dugout.run("set", folder.path, "users/a", "{a: }").status == 2)
    #expect(
      try dugout.run("query", folder.path, "users", "--sum").complaint.contains("--sum FIELD… needs a value"))
    #expect(try dugout.run("ls", folder.path, "--limit", "no").status == 2)
    #expect(try dugout.run("import", folder.path, folder.path + "/none").status == 74)
  }
}
