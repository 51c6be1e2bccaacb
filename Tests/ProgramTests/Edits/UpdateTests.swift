// `dugout update`: one document, and all documents of a query.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct UpdateTests {
  private let dugout = Program("dugout")

  private func fill(_ folder: borrowing TemporaryFolder) throws {
    try folder.changeStore { store in
      for (id, age) in [("ada", 36), ("bob", 17), ("cy", 50)] {
        let fields = StoredMap([
          ("age", .integer(Int64(age))), ("tags", .array([.string("a")])),
          ("address", .map(StoredMap([("city", .string("Rome")), ("zip", .integer(1))]))),
        ])
        try store.commit([.set(try DocumentPath(["users", id]), fields)])
      }
    }
  }

  private func update(_ folder: borrowing TemporaryFolder, _ words: String...) throws -> Program.Outcome {
    try dugout.run(["update", folder.path] + words)
  }

  private func fields(_ folder: borrowing TemporaryFolder, _ path: String) throws -> [String] {
    let outcome = try dugout.run("get", folder.path, path)
    try #require(outcome.status == 0, "\(outcome.complaint)")
    return outcome.output.split(separator: "\n").dropFirst().dropLast().map {
      $0.trimmingCharacters(in: .whitespaces)
    }
  }

  // MARK: One document

  @Test func fieldsOfADocumentAreChanged() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    let outcome = try update(
      folder, "users/ada", "age=37", "address.city=\"London\"", "address.zip=delete()", "`a b`=[1, {c: null}]"
    )
    #expect(outcome.status == 0 && outcome.output == "users/ada was updated.\n", "\(outcome)")
    #expect(
      try fields(folder, "users/ada")
        == [
          "a b:", "[0]: 1", "[1]:", "c: null", "address:", "city: \"London\"", "age: 37", "tags:",
          "[0]: \"a\"",
        ])
    #expect(try update(folder, "users/ada", "age=37").output == "users/ada already has these values.\n")
    let json = try update(folder, "users/ada", "age=38", "--json").output
    #expect(json == #"{"changedMeanwhile":0,"unchanged":0,"undecodable":[],"updated":1}"# + "\n")
  }

  @Test func functionsComputeValues() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    let outcome = try update(
      folder, "users/bob", "age=increment(-1.5), new=INCREMENT(2)",
      "tags=arrayUnion(\"a\", \"b\") seen=serverTimestamp()",
      "address=delete()")
    #expect(outcome.status == 0, "\(outcome)")
    let after = try fields(folder, "users/bob")
    #expect(
      after.prefix(2) == ["age: 15.5", "new: 2"] && after.suffix(3) == ["tags:", "[0]: \"a\"", "[1]: \"b\""])
    #expect(after[2].hasPrefix("seen: 20"), "\(after)")
    #expect(try update(folder, "users/bob", "tags=arrayRemove(\"a\")").status == 0)
    #expect(try fields(folder, "users/bob").suffix(2) == ["tags:", "[0]: \"b\""])
    // A time of the server is always a change.
    #expect(try update(folder, "users/bob", "seen=serverTimestamp()").output == "users/bob was updated.\n")
  }

  @Test func aMissingDocumentIsNotCreated() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    for words in [["users/eve", "age=1"], ["users/eve", "age=1", "--dry-run"]] {
      let outcome = try dugout.run(["update", folder.path] + words)
      #expect(outcome.status == 1)
      #expect(
        outcome.complaint
          == "dugout update: there is no document users/eve to update. \"dugout set\" creates one.\n")
    }
    #expect(try dugout.run("get", folder.path, "users/eve").status == 1)
    let none = folder.path + "/none"
    #expect(try dugout.run("update", none, "users/eve", "age=1").status == 69)
    #expect(!FileManager.default.fileExists(atPath: none))
  }

  @Test func changesThatCannotBeReadAreExplained() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    var wrong: [String] = []
    for (words, said) in [
      (
        ["name=Ada"],
        "Ada is no value. Text needs double quotes, and single quotes around the whole word keep them "
          + "from the command line: 'name=\"Ada\"'\n  name=Ada\n       ^"
      ),
      (["name=Ada Lovelace"], "'name=\"Ada\"'"), (["age==3"], "one equals sign sets a field, such as age=37"),
      (["age"], "expected = behind the field age."),
      (["age="], "expected a value; strings need quotes, found the end"),
      (["age=1", "age=2"], "age is named twice: name each field once. Nothing was written."),
      (["address=1", "address.zip=2"], "address.zip lies in address, and both are named"),
      (["__name__=\"x\""], "the name of a document cannot be changed"),
      (["=3"], "expected a field and its value"),
      (["a=delete(1)"], "expected nothing between these brackets"),
      (["a=increment(nan)"], "increment takes one number"),
      (["a=increment()"], "increment takes one number"),
      (["a=increment(\"1\")"], "increment takes one number"),
      (["a=arrayUnion()"], "expected the elements of the array"),
      (["a=3 b"], "expected = behind the field b."),
      (["where", "age=3"], "A query with blanks needs quotes around all of it"),
      (["a=timestamp(1)"], "a timestamp looks like"),
    ] {
      let outcome = try dugout.run(["update", folder.path, "users/ada"] + words)
      if outcome.status != 2 || !outcome.complaint.contains(said) { wrong.append("\(words): \(outcome)") }
    }
    #expect(wrong == [])
    #expect(
      try update(folder, "users/ada").complaint.contains("usage: dugout update DIR PATH|QUERY FIELD=VALUE…"))
    #expect(try fields(folder, "users/ada").count == 6)
  }

  // MARK: Queries

  @Test func documentsOfAQueryAreUpdated() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    let outcome = try update(folder, "users where age > 20", "adult=true", "age=increment(1)", "--yes")
    #expect(outcome.status == 0 && outcome.output == "2 documents updated.\n", "\(outcome)")
    let table = try dugout.run("query", folder.path, "users", "--fields", "age,adult").output
    #expect(table == "id   age  adult\nada  37   true\nbob  17\ncy   51   true\n3 documents\n")
    let again = try update(folder, "users", "adult=true", "--yes")
    #expect(again.output == "1 document updated. 2 already have these values.\n", "\(again)")
    let none = try update(folder, "user", "adult=true", "--yes")
    #expect(
      none.output == "0 documents updated. There is no collection user. Did you mean users?\n", "\(none)")
    let limited = try update(folder, "users order by age desc limit 1", "age=0", "--yes")
    #expect(limited.output == "1 document updated.\n")
    #expect(try fields(folder, "users/cy").contains("age: 0"))
  }

  @Test func withoutATerminalAQueryNeedsYes() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    for words in [["update", folder.path, "users", "age=1"], ["delete", folder.path, "users", "--query"]] {
      let refused = try dugout.run(words)
      #expect(refused.status == 2)
      #expect(
        refused.complaint.contains(
          "there is no terminal to ask at. Look at them with --dry-run, and add --yes. Nothing was changed."),
        "\(refused)")
      let shell = try dugout.run(
        ["shell", folder.path], input: words.filter { $0 != folder.path }.joined(separator: " ") + "\n")
      #expect(shell.status == 2 && shell.complaint.contains("--dry-run"), "\(shell)")
    }
    #expect(try dugout.run("query", folder.path, "users where age > 1", "--count").output == "count  3\n")
    let shell = try dugout.run(
      ["shell", folder.path],
      input:
        "update users/ada city=\"Paris\", age=1\nupdate 'users where age > 16' age=2 --yes\nget users/ada\n")
    #expect(shell.status == 0 && shell.output.contains("2 documents updated.\n"), "\(shell)")
    #expect(shell.output.contains("age: 1\n  city: \"Paris\"\n"), "\(shell)")
  }

  @Test func aDryRunPrintsChangesAndWritesNothing() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    let before = try dugout.run("export", folder.path, "-").output
    let update = try update(folder, "users", "age=36", "address.zip=delete()", "name=\"A\\nB\"", "--dry-run")
    #expect(
      update.output == """
        users/ada  address.zip: 1 -> (missing)  name: (missing) -> "A\\nB"
        users/bob  age: 17 -> 36  address.zip: 1 -> (missing)  name: (missing) -> "A\\nB"
        users/cy  age: 50 -> 36  address.zip: 1 -> (missing)  name: (missing) -> "A\\nB"
        3 documents would be updated. Nothing was written.

        """)
    let one = try self.update(folder, "users/ada", "age=36", "--dry-run")
    #expect(one.output == "0 documents would be updated. 1 already has these values. Nothing was written.\n")
    let json = try self.update(folder, "users where age > 36", "age=increment(1)", "--dry-run", "--json")
      .output
    #expect(
      json == """
        {"documents":[{"after":{"age":{"integerValue":"51"}},"before":{"age":{"integerValue":"50"}},\
        "path":"users/cy"}],"dryRun":true,"matched":1,"undecodable":[],"updated":1}

        """)
    let delete = try dugout.run("delete", folder.path, "users where age > 20", "--query", "--dry-run")
    #expect(delete.output.hasPrefix("path       address"), "\(delete)")
    #expect(
      delete.output.hasSuffix(
        "2 documents would be deleted. Collections below them are kept. Nothing was written.\n"), "\(delete)")
    let single = try dugout.run("delete", folder.path, "users/ada", "--dry-run").output
    #expect(single == "users/ada would be deleted. Nothing was written.\n")
    #expect(try dugout.run("export", folder.path, "-").output == before)
  }

  @Test func aDryRunListsTheFirstDocumentsAndWorksBesideAWriter() throws {
    let folder = try TemporaryFolder()
    // The close makes the documents visible beside a writer.
    try folder.changeStore { store in
      try store.commit(
        try (10..<40).map { .set(try DocumentPath(["c", "\($0)"]), StoredMap([("n", .integer(1))])) })
    }
    let store = try DocumentStore.open(folder.path)
    let outcome = try update(folder, "c", "n=2", "--dry-run")
    #expect(outcome.status == 0, "\(outcome)")
    let lines = outcome.output.split(separator: "\n")
    try #require(lines.count == 22, "\(outcome)")
    #expect(lines[0] == "c/10  n: 1 -> 2" && lines[20] == "and 10 more documents")
    #expect(lines[21] == "30 documents would be updated. Nothing was written.")
    let locked = try update(folder, "c", "n=2", "--yes")
    #expect(locked.status == 69, "\(locked)")
    try store.close()
  }
}
