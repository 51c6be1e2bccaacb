// The clauses that group documents.

import DocumentStore
import Testing

@testable import dugout

@Suite struct GroupClausesTests {
  private func field(_ name: String) -> StoredFieldPath { StoredFieldPath(unchecked: [name]) }

  private func grouping(_ text: String) throws -> Grouping? {
    try QueryText.request("people \(text)").grouping
  }

  private func problem(_ text: String) -> String {
    do {
      _ = try grouping(text)
      return "none"
    } catch let failure as CommandFailure {
      return failure.message
    } catch {
      return "\(error)"
    }
  }

  @Test func groupsFollowTheClausesForDocuments() throws {
    let request = try QueryText.request(
      """
      people where age > 3 order by age limit 100 GROUP BY city, address.zip COUNT, average age, min(age)
      ORDER BY count DESC, city limit 10
      """)
    #expect(try request.query == QueryText.query("people where age > 3 order by age limit 100"))
    var expected = Grouping(
      fields: [field("city"), StoredFieldPath(unchecked: ["address", "zip"])],
      results: [.count, .average(field("age")), .minimum(field("age"))])
    expected.orders = [
      Grouping.Order(column: .result(0), direction: .descending),
      Grouping.Order(column: .field(0), direction: .ascending),
    ]
    expected.limit = 10
    #expect(request.grouping == expected)
  }

  @Test func resultsHaveSeveralSpellings() throws {
    let expected = Grouping(
      fields: [field("c")],
      results: [.count, .sum(field("a")), .average(field("a")), .minimum(field("a")), .maximum(field("a"))])
    for text in [
      "group by c count, sum a, average a, min a, max a",
      "group by c count(), sum(a), avg(a), minimum(a), maximum (a), count",
      "group by c, count(), sum a, avg a, min a, max a",
    ] {
      #expect(try grouping(text) == expected, "\(text)")
    }
    #expect(try grouping("group by c") == Grouping(fields: [field("c")], results: [.count]))
    #expect(try grouping("distinct c, d") == Grouping(fields: [field("c"), field("d")], results: []))
    #expect(try grouping("count, max a") == Grouping(fields: [], results: [.count, .maximum(field("a"))]))
    #expect(try grouping("where count = 1") == nil)
  }

  /// The words of results are not reserved.
  @Test func fieldsMayHaveTheNamesOfResults() throws {
    #expect(
      try grouping("group by sum, count, max order by count desc, sum")?.fields.map(\.canonical) == [
        "sum", "count", "max",
      ])
    let orders = { (text: String) in try grouping(text)?.orders.map(\.column) }
    #expect(try orders("group by count count order by count, `count`") == [.result(0), .field(0)])
    #expect(
      try orders("group by sum sum a order by sum_a, sum a, sum") == [.result(0), .result(0), .field(0)])
    #expect(try orders("distinct count order by count") == [.field(0)])
  }

  @Test func problemsOfGroupsAreExplained() {
    let cases = [
      ("group city", "expected by, found city\n"),
      ("group by", "expected a field, found the end\n"),
      ("group by city sum", "expected a field, found the end\n"),
      ("group by city count age", "expected order by, limit or the end, found age\n"),
      ("group by city count order by age", "the groups have no age to order by, only city, count\n"),
      ("group by city sum age order by count", "the groups have no count to order by, only city, sum_age\n"),
      ("group by city, city", "city is named twice\n"),
      ("group by __name__", "a group needs a field, and __name__ is different in each document\n"),
      ("group by city min __name__", "min needs a field, and __name__"),
      ("group by city limit 0", "a limit is a number above 0\n"),
      ("group by city limit last 3", "expected a whole number, found last\n"),
      ("distinct city count", "expected order by, limit or the end, found count\n"),
      ("count order by count", "expected a comma or the end, found order\n"),
      ("gruop by city", "expected where, order by, start, end, limit, group by, distinct, count, sum"),
      ("distinct " + (0..<11).map { "f\($0)" }.joined(separator: ", "), "a group has 10 fields at most\n"),
      (
        "group by c " + (0..<21).map { "sum f\($0)" }.joined(separator: ", "),
        "a group has 20 results at most\n"
      ),
    ]
    var wrong: [String] = []
    for (text, said) in cases {
      let problem = problem(text)
      if !problem.hasPrefix(said) { wrong.append("\(text): \(problem)") }
    }
    #expect(wrong == [])
    #expect(problem("gruop by city").contains(". Did you mean group?\n"))
  }

  @Test func commandsForDocumentsRefuseGroups() {
    let failure = thrown { _ = try QueryText.query("people group by city") } as? CommandFailure
    #expect(failure?.code == .usage && failure?.message.contains("are for \"dugout query\"") == true)
  }
}
