// The limits on queries.

import ByteStore
import Dispatch
import DocumentStore
import Harness
import Testing

@Suite struct QueryLimitsTests {
  private let query = StructuredQuery.ofC

  private func complaint(_ query: StructuredQuery, _ limits: QueryLimits = QueryLimits()) -> String? {
    failure(of: { try query.check(limits) })?.complaint
  }

  private func list(_ count: Int64) -> StoredValue { .array((0..<count).map { .integer($0) }) }

  @Test func limitToLastRequiresAnOrder() throws {
    let last = try query.limited(to: .last(1))
    #expect(
      complaint(last) == "limit(toLast:) queries require specifying at least one OrderBy() clause.")
    #expect(try complaint(last.order("a")) == nil)
    #expect(try complaint(last.where("a", .greaterThan, 1)) != nil)
  }

  @Test func thirtyAlternativesAreAllowed() throws {
    let thirty = try query.where("a", .isIn, list(5)).filtered(
      by: .any([.field("b", .equal, 1), .field("b", .arrayContainsAny, list(5))]))
    #expect(complaint(thirty) == nil)
    let more = try query.where("a", .isIn, list(31))
    #expect(
      complaint(more) == "The query has 31 alternatives after 'or' and 'in', and the limit is 30.")
    var limits = QueryLimits()
    limits.alternativesMax = 31
    #expect(complaint(more, limits) == nil)
  }

  @Test func tenValuesAreAllowedInNotIn() throws {
    #expect(try complaint(query.where("a", .notIn, list(10))) == nil)
    #expect(
      try complaint(query.where("a", .notIn, list(11)))
        == "The query has 11 values in 'notIn', and the limit is 10.")
  }

  @Test func notInCannotBeCombinedWithOr() throws {
    let either = FilterTree.any([.field("b", .equal, 1), .field("b", .equal, 2)])
    #expect(
      try complaint(query.where("a", .notIn, [1]).filtered(by: either))
        == "A query cannot use 'notIn' together with 'or'.")
    #expect(
      try complaint(query.filtered(by: .all([.field("a", .notIn, [1]), .field("b", .equal, 1)]))) == nil)
  }

  @Test func eachAlternativeHasOneArrayFilter() throws {
    let first = FilterTree.field("a", .arrayContains, 1)
    let second = FilterTree.field("b", .arrayContainsAny, [1])
    let message =
      "A query can use one 'arrayContains' or 'arrayContainsAny' filter in each of its alternatives."
    #expect(try complaint(query.filtered(by: first).filtered(by: second)) == message)
    #expect(
      try complaint(query.filtered(by: .any([.field("c", .equal, 1), .all([first, second])]))) == message)
    #expect(try complaint(query.filtered(by: .any([first, second]))) == nil)
  }

  @Test func tenFieldsCanHaveInequalities() throws {
    var query = query
    for index in 0..<10 { query = try query.where(field("f\(index)"), .greaterThan, 1) }
    #expect(try complaint(query.where("f0", .lessThan, 9)) == nil)
    #expect(
      try complaint(query.where(.documentID, .lessThan, "9"))
        == "The query has 11 fields with inequalities, and the limit is 10.")
  }

  @Test func filtersOrdersAndParentNamesAreAtMost100() throws {
    var query = StructuredQuery(.collection(path("a", "b", "c", "d", "e", "f").parent))
    for index in 0..<48 {
      query = try query.where(field("f\(index)"), .equal, 1).order(field("f\(index)"))
    }
    #expect(complaint(query) == nil)
    #expect(
      try complaint(query.where("x", .equal, 1))
        == "The query has 101 filters, orders and names in the parent's path, and the limit is 100.")
  }

  /// Guards against derived queries that exceed the limits. The store makes implied orders explicit when it
  /// computes sums, and when a listener is limited to the last documents.
  @Test func derivedQueriesStayWithinTheLimits() throws {
    let directory = TemporaryDirectory()
    let store = try DocumentStore.open(directory.path)
    var fields: [(name: String, value: StoredValue)] = [("x", 7)]
    var query = query
    for index in 0..<80 {
      query = try query.where(field("e\(index)"), .equal, 1)
      fields.append(("e\(index)", 1))
    }
    for index in 0..<10 {
      query = try query.where(field("i\(index)"), .greaterThan, 1)
      fields.append(("i\(index)", 2))
    }
    for index in 0..<5 {
      query = try query.order(field("o\(index)"))
      fields.append(("o\(index)", 3))
    }
    try store.commit([.set(path("c", "a"), StoredMap(fields))])
    #expect(try store.aggregate([.sum("x")], over: query) == [7])
    #expect(try store.snapshot().aggregate([.sum("x")], over: query) == [7])
    let received = Locked<[[String]]>([])
    let queue = DispatchQueue(label: "listener")
    let last = try query.limited(to: .last(5))
    let registration = try store.listen(to: last, on: queue) { event in
      let ids = (try? event.get().documents.map(\.path.id)) ?? []
      received.withLock { $0.append(ids) }
    }
    queue.sync {}
    #expect(received.withLock { $0 } == [["a"]])
    registration.remove()
  }

  @Test func fiveDifferentAggregatesAreAllowed() {
    let five: [Aggregate] = [.count, .sum("a"), .average("a"), .sum("b"), .average("b")]
    #expect(failure(of: { try Aggregate.check(five + five) }) == nil)
    #expect(
      failure(of: { try Aggregate.check(five + [.sum("c")]) })?.complaint
        == "The query has 6 aggregates, and the limit is 5.")
  }
}
