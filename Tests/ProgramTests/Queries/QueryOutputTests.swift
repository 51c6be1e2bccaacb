// Chosen fields, offsets, CSV, and the last line of a query's table.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct QueryOutputTests {
  private let dugout = Program("dugout")

  private func fill(_ folder: borrowing TemporaryFolder) throws {
    try folder.changeStore { store in
      for (id, age, city) in [("ada", 36, "London"), ("bob", 17, "Paris"), ("cy", 50, "Rome")] {
        let address = StoredMap([("city", .string(city)), ("zip", .integer(1))])
        let fields = StoredMap([
          ("name", .string("\(id), the \"first\"")), ("age", .integer(Int64(age))),
          ("address", .map(address)),
        ])
        try store.commit([
          .set(try DocumentPath(["users", id]), fields),
          .set(try DocumentPath(["users", id, "posts", "1"]), StoredMap([("likes", .integer(1))])),
        ])
      }
    }
  }

  private func query(_ folder: borrowing TemporaryFolder, _ words: String...) throws -> Program.Outcome {
    try dugout.run(["query", folder.path] + words)
  }

  // MARK: Fields

  @Test func chosenFieldsAreShownInTheirOrder() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    #expect(
      try query(folder, "users", "--fields", "address.city,age").output
        == "id   address.city  age\nada  London        36\nbob  Paris         17\ncy   Rome          50\n3 documents\n"
    )
    #expect(
      try query(folder, "users limit 1", "--fields", "age", "--fields=__name__, age").output
        == "age  id\n36   ada\n1 of 3 documents\n")
    #expect(
      try query(folder, "group posts limit 1", "--fields", "__name__").output
        == "path\nusers/ada/posts/1\n1 of 3 documents\n")
    let json = try query(folder, "users limit 1", "--fields", "address.zip,__name__", "--json").output
    #expect(
      json.contains(
        #""fields":{"address":{"mapValue":{"fields":{"zip":{"integerValue":"1"}}}}},"path":"users/ada""#),
      "\(json)")
    let get = try dugout.run("get", folder.path, "users/ada", "--fields", "address.city,age")
    #expect(
      get.output.hasPrefix("users/ada\n  address:\n    city: \"London\"\n  age: 36\ncreated "), "\(get)")
    #expect(get.complaint.isEmpty)
  }

  @Test func aFieldThatNoShownDocumentHasIsReported() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    let table = try query(folder, "users", "--fields", "agee,name,address.cit")
    #expect(
      table.output.hasSuffix(
        "3 documents; no document here has the fields agee, address.cit. Did you mean age?\n"), "\(table)")
    let csv = try query(folder, "users", "--fields", "address.cit", "--csv")
    #expect(csv.output.hasPrefix("path,address.cit\nusers/ada,\n"), "\(csv)")
    #expect(
      csv.complaint
        == "dugout query: no document here has the field address.cit. Did you mean address.city?\n")
    let get = try dugout.run("get", folder.path, "users/ada", "--fields", "color")
    #expect(get.status == 0 && get.complaint == "dugout get: the document does not have the field color\n")
    #expect(try query(folder, "users where age > 99", "--fields", "agee").output == "no documents\n")
    #expect(
      try query(folder, "users where agee > 3").output
        == "no documents; no document has the field agee. Did you mean age?\n")
    #expect(
      try query(folder, "users order by address.zipp").output
        == "no documents; no document has the field address.zipp. Did you mean address.zip?\n")
    #expect(try query(folder, "users where size > 3 order by weight").output == "no documents\n")
  }

  @Test func fieldsThatCannotBeReadAreExplained() throws {
    let folder = try TemporaryFolder()
    var wrong: [String] = []
    for (text, said) in [
      ("", "--fields needs fields with commas between them"),
      ("name age", "expected a comma and a field, or the end"),
      ("name,", "expected a field, found the end"), ("a..b", "Paths must not be empty"),
      ("`a", "a backtick opens a name and none closes it"), ("1", "expected a field, found 1"),
    ] {
      for words in [["query", folder.path, "users"], ["get", folder.path, "users/ada"]] {
        let outcome = try dugout.run(words + ["--fields", text])
        if outcome.status != 2 || !outcome.complaint.contains(said) { wrong.append("\(text): \(outcome)") }
      }
    }
    #expect(wrong == [])
  }

  /// Chosen fields are shortened rather than left out.
  @Test func chosenFieldsFitTheTerminal() throws {
    let folder = try TemporaryFolder()
    let long = String(repeating: "long ", count: 30)
    try folder.changeStore { store in
      let fields = StoredMap([("a", .string(long)), ("b", .integer(1)), ("c", .string(long))])
      try store.commit([.set(try DocumentPath(["users", "ada"]), fields)])
      let documents = try store.documents(StructuredQuery(.collection(try CollectionPath(["users"]))))
      let arguments = try Arguments(
        ["data", "users", "--fields", "a,b,c"], of: QueryCommand.self)
      func table(_ width: Int?) throws -> DocumentTable {
        DocumentTable(
          documents, DocumentTable.Form(fullPaths: false, fields: try FieldList(arguments), width: width))
      }
      let narrow = try table(40)
      #expect(narrow.lines.last == "ada  long long long…  1  long long long…")
      #expect(narrow.hiddenFields == 0 && narrow.lines.allSatisfy { $0.columns <= 40 }, "\(narrow.lines)")
      #expect(try table(nil).lines.last?.contains(long + "  1  " + long.dropLast()) == true)
      let tiny = try table(12)
      #expect(tiny.hiddenFields == 3 && tiny.lines.last == "ada", "\(tiny.lines)")
    }
  }

  // MARK: Parts

  @Test(arguments: [
    ("users", "1", ["bob", "cy"]), ("users limit 1", "1", ["bob"]), ("users limit 5", "2", ["cy"]),
    ("users order by age desc limit 2", "1", ["ada", "bob"]),
    ("users order by age limit last 1", "1", ["ada"]),
    ("users order by age limit last 2", "2", ["bob"]), ("users where age > 20", "1", ["cy"]),
    ("users", "3", []), ("users limit 9223372036854775807", "1", ["bob", "cy"]),
    ("users limit 2", "9223372036854775807", []),
  ])
  func anOffsetLeavesOutTheFirstDocuments(query: String, offset: String, ids: [String]) throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    let outcome = try self.query(folder, query, "--offset", offset, "--csv", "--fields", "__name__")
    #expect(outcome.output == "path\n" + ids.map { "users/\($0)\n" }.joined(), "\(outcome)")
  }

  @Test func theLastLineSaysHowMuchThereIs() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    let last = { (words: [String]) in
      try self.dugout.run(["query", folder.path] + words).output.split(separator: "\n").last.map(String.init)
    }
    #expect(try last(["users"]) == "3 documents")
    #expect(try last(["users limit 2"]) == "2 of 3 documents")
    #expect(try last(["users limit 3"]) == "3 documents")
    #expect(try last(["users where age > 20 limit 1"]) == "1 of 2 documents")
    #expect(try last(["users order by age limit last 1"]) == "1 of 3 documents")
    #expect(try last(["users limit 1", "--offset", "1"]) == "1 of 3 documents, after the first 1")
    #expect(try last(["users", "--offset", "3"]) == "no documents after the first 3, of 3")
    #expect(try last(["users where age > 99", "--offset", "3"]) == "no documents")
    #expect(try last(["users where age > 99"]) == "no documents")
  }

  /// If no index tells how many documents a query finds, the count stops.
  @Test func countsOfScannedQueriesAreBounded() throws {
    let folder = try TemporaryFolder()
    try folder.changeStore { store in
      let count = ResultPart.countedMax + 10
      for start in stride(from: 0, to: count, by: 500) {
        try store.commit(
          try (start..<min(start + 500, count)).map { number in
            let fields = StoredMap([("a", .integer(Int64(number))), ("b", .integer(1))])
            return .set(try DocumentPath(["c", "\(number)"]), fields)
          })
      }
      let scanned = try QueryText.query("c where a >= 0 and b > 0 order by a limit 5")
      try #require(store.explain(scanned).isFiltered)
      #expect(
        try ResultPart(of: scanned, after: 0, from: store).total(in: store)
          == .moreThan(ResultPart.countedMax + 5))
      #expect(try ResultPart(of: scanned, after: 6, from: store).total(in: store) == .exactly(count))
      let exact = try QueryText.query("c where a >= 0 order by a limit 5")
      #expect(try ResultPart(of: exact, after: 0, from: store).total(in: store) == .exactly(count))
    }
    let outcome = try query(folder, "c where a >= 0 and b > 0 order by a limit 5")
    #expect(outcome.output.hasSuffix("\n5 of more than 10005 documents\n"), "\(outcome)")
  }

  // MARK: CSV

  @Test func documentsAreLinesOfCSV() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    let export = try dugout.run("export", folder.path, "-", "users", "--csv")
    #expect(try query(folder, "users", "--csv").output == export.output)
    #expect(
      try query(folder, "users limit 1", "--csv", "--fields", "name,address.zip").output
        == "path,name,address.zip\nusers/ada,\"ada, the \"\"first\"\"\",1\n")
    #expect(
      try query(folder, "users limit 1", "--csv", "--fields", "age,__name__").output
        == "age,path\n36,users/ada\n")
  }
}
