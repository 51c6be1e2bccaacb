// Groups as `dugout query` prints them.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct GroupQueryTests {
  private let dugout = Program("dugout")

  private func fill(_ folder: borrowing TemporaryFolder) throws {
    try folder.changeStore { store in
      let people: [(String, [(name: String, value: StoredValue)])] = [
        ("ada", [("city", .string("London")), ("age", .integer(36))]),
        ("bob", [("city", .string("Paris")), ("age", .double(17.5))]),
        ("cy", [("city", .string("Paris")), ("age", .string("unknown"))]),
        ("dan", [("city", .null), ("age", .integer(5))]), ("eve", [("age", .integer(7))]),
        ("flo", [("city", .string("Paris")), ("age", .integer(40))]),
      ]
      try store.commit(try people.map { .set(try DocumentPath(["people", $0]), StoredMap($1)) })
    }
  }

  private func query(_ folder: borrowing TemporaryFolder, _ words: String...) throws -> Program.Outcome {
    try dugout.run(["query", folder.path] + words)
  }

  @Test func groupsAreATable() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    #expect(
      try query(folder, "people group by city count, average age, max age order by count desc").output == """
        city       count  avg_age  max_age
        Paris          3    28.75  unknown
        (missing)      1      7.0        7
        null           1      5.0        5
        London         1     36.0       36
        4 groups; counted 6 documents

        """)
    let first = try query(folder, "people group by city order by count desc limit 1")
    #expect(first.output == "city   count\nParis      3\n1 of 4 groups; counted 6 documents\n")
    let rest = try query(folder, "people group by city order by count desc limit 2", "--offset", "3")
    #expect(
      rest.output == "city    count\nLondon      1\n1 of 4 groups, after the first 3; counted 6 documents\n")
    let none = try query(folder, "people group by city", "--offset", "4")
    #expect(none.output == "no groups after the first 4, of 4; counted 6 documents\n")
    let chosen = try query(folder, "people where age > 6 group by city")
    #expect(
      chosen.output
        == "city       count\n(missing)      1\nLondon         1\nParis          2\n3 groups; counted 4 documents\n"
    )
  }

  @Test func distinctValuesTellMissingFromNull() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    #expect(
      try query(folder, "people distinct city").output
        == "city\n(missing)\nnull\nLondon\nParis\n4 different values; counted 6 documents\n")
    let json = try query(folder, "people distinct city order by city desc", "--json").output
    #expect(
      json == """
        {"documents":6,"groups":[{"fields":{"city":{"stringValue":"Paris"}},"results":{}},\
        {"fields":{"city":{"stringValue":"London"}},"results":{}},\
        {"fields":{"city":{"nullValue":null}},"results":{}},{"fields":{},"results":{}}],"total":4}

        """)
    #expect(try query(folder, "people distinct city", "--csv").output == "city\n\nnull\nLondon\nParis\n")
    let two = try query(folder, "people distinct city, age limit 1").output
    #expect(two.hasSuffix("1 of 6 different combinations; counted 6 documents\n"), "\(two)")
  }

  @Test func resultsOverAllDocumentsNeedNoGroup() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    #expect(
      try query(folder, "people count, min age, sum age").output == "count  6\nmin_age  5\nsum_age  105.5\n")
    let json = try query(folder, "people where city == \"Paris\" count, max age", "--json").output
    #expect(json == #"{"count":{"integerValue":"3"},"max_age":{"stringValue":"unknown"}}"# + "\n")
    #expect(try query(folder, "people count, max age", "--csv").output == "count,max_age\n6,unknown\n")
    #expect(
      try query(folder, "people where age > 99 count, average age").output == "count  0\navg_age  null\n")
  }

  @Test func aMistypedFieldOfAGroupIsReported() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    let typo = try query(folder, "people group by citty")
    #expect(
      typo.output == """
        citty      count
        (missing)      6
        1 group; counted 6 documents; no document here has the field citty. Did you mean city?

        """)
    let json = try query(folder, "people sum aeg", "--json")
    #expect(json.complaint == "dugout query: no document here has the field aeg. Did you mean age?\n")
    let collection = try query(folder, "poeple group by city")
    #expect(collection.output == "no groups; there is no collection poeple. Did you mean people?\n")
  }

  @Test func optionsThatDoNotGoTogetherAreRefused() throws {
    let folder = try TemporaryFolder()
    try fill(folder)
    var wrong: [String] = []
    for (words, said) in [
      (["people group by city", "--count"], "--count does not go with results in the query"),
      (["people group by city", "--fields", "age"], "--fields is for documents."),
      (["people", "--csv", "--json"], "--csv and --json are two forms"),
      (["people", "--count", "--offset", "1"], "--offset does not go with --count"),
      (["people", "--count", "--csv"], "--csv does not go with --count"),
      (["people", "--offset", "-1"], "--offset needs a whole number, such as --offset 20, not \"-1\"."),
    ] {
      let outcome = try dugout.run(["query", folder.path] + words)
      if outcome.status != 2 || !outcome.complaint.contains(said) { wrong.append("\(words): \(outcome)") }
    }
    #expect(wrong == [])
    let export = try dugout.run("export", folder.path, "-", "people group by city")
    #expect(export.status == 2 && export.complaint.contains("takes a query for documents"))
    let plan = try dugout.run("explain", folder.path, "people group by city")
    #expect(plan.output.hasSuffix("The documents are then grouped in memory.\n"), "\(plan)")
  }

  @Test func aTableOfGroupsHasTheWidthOfTheTerminal() throws {
    let folder = try TemporaryFolder()
    let long = String(repeating: "long ", count: 30)
    try folder.changeStore { store in
      let fields = StoredMap([("a", .string(long)), ("b", .string(long))])
      try store.commit([.set(try DocumentPath(["c", "d"]), fields)])
    }
    let terminal = try PseudoTerminal(columns: 30)
    let process = try terminal.start(
      dugout.path, ["query", folder.path, "c group by a, b"], ["TERM": "xterm", "NO_COLOR": "1"])
    let shown = try terminal.rest(of: process).split(whereSeparator: \.isNewline).map(String.init)
    let rows = shown.map { $0.replacing(#/^.*\u{1B}\[K/#, with: "") }.filter { !$0.isEmpty }
    #expect(rows.first == "a           b           count", "\(shown)")
    #expect(rows.dropLast().allSatisfy { $0.columns <= 30 }, "\(shown)")
  }
}
