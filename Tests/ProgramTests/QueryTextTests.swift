// The text form of queries and values.

import DocumentStore
import Testing

@testable import dugout

@Suite struct QueryTextTests {
  private func field(_ name: String) -> StoredFieldPath { StoredFieldPath(unchecked: [name]) }

  private func problem(_ text: String) -> String {
    do {
      _ = try QueryText.query(text)
      return "none"
    } catch let failure as CommandFailure {
      return failure.message
    } catch {
      return "\(error)"
    }
  }

  @Test func aQuerySupportsEverythingInTheAPI() throws {
    let users = StructuredQuery(.collection(try CollectionPath(["users"])))
    let expected =
      try users.filtered(
        by: .all([
          .field(field("age"), .greaterThanOrEqual, .integer(18)),
          .any([
            .field(field("city"), .equal, .string("Paris")),
            .field(field("tags"), .arrayContains, .string("vip")),
          ]),
        ])
      )
      .ordered(by: OrderBy(field("age"), .descending)).ordered(by: OrderBy(field("name")))
      .starting(.after, [.integer(90)]).ending(.after, [.integer(20), .string("Zoe")]).limited(to: .last(7))
    let text = """
      users where age >= 18 AND (city == "Paris" or tags contains 'vip') order by age desc, name
      start after 90 end at 20, "Zoe" limit last 7
      """
    #expect(try QueryText.query(text) == expected)
  }

  @Test func sourcesAreCollectionsGroupsAndDocuments() throws {
    #expect(try QueryText.query("a/b/c").scope == .collection(try CollectionPath(["a", "b", "c"])))
    #expect(try QueryText.query("group messages").scope == .collectionGroup("messages"))
    #expect(try QueryText.query("a/b").scope == .document(try DocumentPath(["a", "b"])))
    #expect(try QueryText.query("where where where = 1").filters.count == 1)
  }

  /// The name of a document is compared with an id in a query of a collection, and with a path in a query of
  /// a collection group.
  @Test func documentNameIsQueryableAsAField() throws {
    guard case .field(let filter)? = try QueryText.query("users where __name__ >= \"b\"").filters.first else {
      Issue.record("there is no filter")
      return
    }
    #expect(filter.field == .documentID && filter.operator == .greaterThanOrEqual)
    #expect(
      try QueryText.query("users order by __name__ desc").orders == [OrderBy(.documentID, .descending)])
    #expect(try QueryText.query("group posts where __name__ > \"users/ada/posts/1\"").filters.count == 1)
    #expect(problem("group posts where __name__ > \"1\"").contains("must result in a valid document path"))
    #expect(problem("users where __name__ > \"a/b\"").contains("provide a plain document ID"))
  }

  @Test func operatorTokensParseToTheirOperators() throws {
    func kind(_ text: String) throws -> FieldFilter.Operator? {
      guard case .field(let filter)? = try QueryText.query("c where f \(text)").filters.first else {
        return nil
      }
      return filter.operator
    }
    #expect(try kind("= 1") == .equal)
    #expect(try kind("!= 1") == .notEqual)
    #expect(try kind("<1") == .lessThan)
    #expect(try kind(">1") == .greaterThan)
    #expect(try kind("<=-1") == .lessThanOrEqual)
    #expect(try kind("not in [1, 2]") == .notIn)
    #expect(try kind("contains any [1, 2]") == .arrayContainsAny)
  }

  @Test func queryValuesExtendJSON() throws {
    let text = #"""
      {a: 1, "b c": 1.0, d: -2e3, e: [true, null, "q\"\u00e9\ud83d\ude00\n"], f: {}, g: nan, h: -infinity,
      i: timestamp("2026-02-28T23:30:00.25-01:00"), j: bytes("AQID"), k: ref("users/ada"), l: geo(48.5, -11),
      m: vector(1, 2.5), n: 9223372036854775807, o: 9223372036854775808.0}
      """#
    let expected: [(String, StoredValue)] = [
      ("a", .integer(1)), ("b c", .double(1)), ("d", .double(-2000)),
      ("e", .array([.boolean(true), .null, .string("q\"é😀\n")])), ("f", .map(StoredMap([]))),
      ("g", .double(.nan)), ("h", .double(-.infinity)),
      ("i", .timestamp(try #require(StoredTimestamp(seconds: 1_772_325_000, nanoseconds: 250_000_000)))),
      ("j", .bytes([1, 2, 3])),
      (
        "k",
        .reference(
          StoredReference(
            projectID: "dugout", databaseID: "(default)", path: try DocumentPath(["users", "ada"])))
      ),
      ("l", .geoPoint(try #require(StoredGeoPoint(latitude: 48.5, longitude: -11)))),
      ("m", .vector([1, 2.5])),
      ("n", .integer(.max)), ("o", .double(9_223_372_036_854_775_808)),
    ]
    #expect(try QueryText.value(text) == .map(StoredMap(expected.map { (name: $0.0, value: $0.1) })))
  }

  /// Regression: backticks quote a field in a query, but in a document they became part of the field's name.
  @Test func backticksQuoteFieldNames() throws {
    func names(_ text: String) throws -> [String] {
      guard case .map(let map) = try QueryText.value(text) else { return [] }
      return map.entries.map(\.name)
    }
    #expect(try names("{`a b`: 2}") == ["a b"])
    #expect(try names(#"{`a.b`: 1, `c\`d\\`: 2, "`e`": 3}"#) == ["`e`", "a.b", #"c`d\"#])
    #expect(try QueryText.value("{a: {`b c`: 1}}") == QueryText.value(#"{"a": {"b c": 1}}"#))
    func problem(_ text: String) -> String { self.problem("users where a = \(text)") }
    #expect(problem("{`a b: 2}").hasPrefix("a backtick opens a name and none closes it\n"))
    #expect(problem("{a`b: 2}").hasPrefix("a backtick opens a name and none closes it\n"))
    var unexplained: [String] = []
    for wrong in ["{a`b`: 2}", "{`a`b: 2}", "{``: 2}"] {
      if !problem(wrong).hasPrefix("a name is enclosed in backticks") {
        unexplained.append("\(wrong): \(problem(wrong))")
      }
    }
    #expect(unexplained == [])
    #expect(problem("{a.`b c`: 2}").hasPrefix("a field in a map is written inside its own braces"))
  }

  @Test func aReferenceMayIncludeItsDatabase() throws {
    let path = try DocumentPath(["users", "ada"])
    #expect(
      try QueryText.value("ref(\"projects/p/databases/d/documents/users/ada\")")
        == .reference(StoredReference(projectID: "p", databaseID: "d", path: path)))
    #expect(
      try QueryText.value("ref(\"users/ada\")")
        == .reference(StoredReference(projectID: "dugout", databaseID: "(default)", path: path)))
  }

  @Test func timestampsAreValidatedAgainstTheCalendar() {
    #expect(TimestampText.parse("1970-01-01T00:00:00Z")?.microseconds == 0)
    #expect(TimestampText.parse("0001-01-01T00:00:00Z")?.seconds == -62_135_596_800)
    #expect(TimestampText.parse("9999-12-31T23:59:59.999999999Z")?.seconds == 253_402_300_799)
    #expect(TimestampText.parse("2000-02-29T12:00:00Z")?.seconds == 951_825_600)
    let invalid = ["2001-02-29T00:00:00Z", "2001-13-01T00:00:00Z", "2001-01-01T24:00:00Z", ""]
    #expect(invalid.filter { TimestampText.parse($0) != nil } == [])
  }

  @Test func aProblemIsShownAtItsPosition() {
    #expect(
      problem("users where age >> 3")
        == "expected a value; strings need quotes, found >\n  users where age >> 3\n                   ^")
    #expect(problem("users where age in 3").hasPrefix("expected a list such as [1, 2], found 3\n"))
    #expect(problem("users where (a = 1").hasPrefix("expected ), found the end\n"))
    #expect(problem("users limit 1.5").hasPrefix("expected a whole number, found 1.5\n"))
    #expect(problem("users limit 0").hasPrefix("Invalid Query. Query limit (0) is invalid."))
    #expect(problem("users order age").hasPrefix("expected by, found age\n"))
    #expect(problem("users wher a = 1").contains("min, max or the end, found wher. Did you mean where?\n"))
    #expect(problem("users where a = \"x").hasPrefix("a string opens with \" and does not end\n"))
    #expect(problem("users where a = {b: 1, b: 2}").hasPrefix("b appears twice\n"))
    #expect(problem("users where a = geo(91, 0)").hasPrefix("a geo point looks like geo(48.1, 11.6)\n"))
    #expect(problem("").hasPrefix("a query begins with a collection"))
    #expect(
      problem("users where a = 9223372036854775808").hasPrefix(
        "9223372036854775808 is too large for an integer"))
  }

  /// Regression: the parser is recursive, and a few thousand brackets crashed the process.
  @Test(arguments: ["(", "(a = 1 or (", "a = [", "a = {b: ", "a = [{b: ", "a = vector(", "a = {b: vector(["])
  func bracketNestingIsBounded(_ text: String) throws {
    let isValue = text.hasPrefix("a = ")
    let opened = isValue ? String(text.dropFirst(4)) : text
    let brackets = opened.count { "([{".contains($0) }
    let said = problem(
      "users where " + (isValue ? "a = " : "") + String(repeating: opened, count: 100_000 / brackets))
    let lines = said.split(separator: "\n").map(String.init)
    try #require(lines.count == 3 && lines.allSatisfy { $0.count < 300 }, "\(said.prefix(500))")
    #expect(
      ["brackets may be nested 100 deep", "Maps and arrays may be nested 20 deep"].contains(lines[0]))
    // The arrow in the message points at the first bracket beyond the limit.
    #expect("([{".contains(Array(lines[1])[lines[2].count - 1]), "\(lines)")
  }

  /// Regression: for a hundred parentheses around one array, the message said that arrays may be nested
  /// 20 deep.
  @Test func theReportedNestingLimitMatchesTheBrackets() {
    func first(_ text: String) -> String { String(problem("users where \(text)").prefix { $0 != "\n" }) }
    let (round, square) = (String(repeating: "(", count: 100), String(repeating: "[", count: 100))
    #expect(first("\(round)a = [") == "brackets may be nested 100 deep")
    #expect(first("\(round)a = {b: ") == "brackets may be nested 100 deep")
    #expect(first("\(round.dropLast(20))a = \(square)") == "Maps and arrays may be nested 20 deep")
    #expect(first("a = \(square)[") == "Maps and arrays may be nested 20 deep")
    #expect(first("a = \(square)vector(") == "brackets may be nested 100 deep")
  }

  @Test func bracketsUpToTheLimitAreParsed() throws {
    let deep = String(repeating: "(", count: 100) + "a = 1" + String(repeating: ")", count: 100)
    #expect(try QueryText.query("users where \(deep)") == QueryText.query("users where a = 1"))
    let list = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
    #expect(try QueryText.value(list) != QueryText.value("[]"))
    #expect(throws: CommandFailure.self) { try QueryText.value("[\(list)]") }
    // Only nested brackets count toward the limit. Consecutive brackets do not.
    let many = Array(repeating: "(a = 1)", count: 20).joined(separator: " and ")
    #expect(try QueryText.query("users where \(many)").filters.isEmpty == false)
  }

  @Test func anExcerptOfALongTextIsShownAroundTheProblem() {
    let before = Array(repeating: "a = 1", count: 200).joined(separator: " and ")
    let after = String(repeating: " and a = 1", count: 200)
    let lines = problem("users where \(before) and b >> 3\(after)").split(separator: "\n")
    #expect(lines.count == 3 && lines[1].hasPrefix("  …") && lines[1].hasSuffix("…"), "\(lines)")
    #expect(lines[1].count < 250)
    let arrow = lines[2].count - 1
    #expect(String(Array(lines[1])[..<arrow]).hasSuffix("b >"), "\(lines)")
  }

  /// Regression: each name of a map was compared with all previous names.
  @Test(.timeLimit(.minutes(1))) func namesOfALargeMapAreCheckedInLinearTime() throws {
    let count = 60_000
    let members = (0..<count).map { "n\($0): 1" }
    guard case .map(let map) = try QueryText.value("{\(members.joined(separator: ", "))}") else {
      Issue.record("no map")
      return
    }
    #expect(map.entries.count == count)
    let twice = members + ["n\(count / 2): 1"]
    let said = problem("users where a = {\(twice.joined(separator: ", "))}")
    #expect(said.hasPrefix("n\(count / 2) appears twice\n"))
  }

  /// Regression: each sort field copied the query with all previous sort fields.
  @Test func aQuerySortsByABoundedNumberOfFields() throws {
    func text(_ count: Int) -> String {
      "users order by " + (0..<count).map { "a\($0)" }.joined(separator: ", ")
    }
    #expect(try QueryText.query(text(100)).orders.count >= 100)
    var wrong: [String] = []
    for count in [101, 100_000] {
      let problem = problem(text(count))
      if !problem.hasPrefix("a query sorts by 100 fields at most\n") { wrong.append("\(count): \(problem)") }
    }
    #expect(wrong == [])
  }
}
