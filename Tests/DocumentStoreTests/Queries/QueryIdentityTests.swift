// Equal queries have equal canonical texts, and different queries have different canonical texts.

import DocumentStore
import Testing

@Suite struct QueryIdentityTests {
  private let query = StructuredQuery.ofC

  @Test func canonicalIDContainsAllPartsOfTheQuery() throws {
    let query = try StructuredQuery.ofGroupC
      .where("a", .greaterThan, 1).filtered(
        by: .any([.field("b", .isIn, ["x"]), .field("c", .equal, .null)])
      )
      .order("a", .descending).starting(.before, [3]).ending(.before, [2]).limited(to: .first(5))
    #expect(
      query.canonicalID
        == #"|cg:c|f:a greaterThan 1,or(b in ["x"],c equal null)"#
        + #"|ob:a desc,__name__ desc|l:5|lb:b:3|ub:b:2|lt:f"#
    )
    #expect(StructuredQuery(.document(path("c", "x"))).targetID == "c/x|f:|ob:__name__ asc")
  }

  @Test func implicitOrdersAreTheSameAsExplicitOnes() throws {
    let implicit = try query.where("a", .greaterThan, 1)
    #expect(try implicit.order("a").canonicalID == implicit.canonicalID)
    #expect(try implicit.order("a").order(.documentID).canonicalID == implicit.canonicalID)
    #expect(try implicit.order("a", .descending).canonicalID != implicit.canonicalID)
  }

  @Test func limitToFirstAndMirroredLimitToLastShareATargetID() throws {
    let last = try query.order("a").starting(.after, [1]).limited(to: .last(3))
    let first = try query.order("a", .descending).ending(.before, [1]).limited(to: .first(3))
    #expect(last.targetID == first.targetID)
    #expect(last.canonicalID == first.targetID + "|lt:l")
    #expect(first.canonicalID == first.targetID + "|lt:f")
  }

  @Test func conjunctionsHaveOneTargetIDHoweverTheyAreNested() throws {
    let filters: [FilterTree] = [
      .field("a", .equal, 1), .field("b", .equal, 2), .any([.field("c", .equal, 3), .field("d", .equal, 4)]),
    ]
    let oneByOne = try filters.reduce(query) { try $0.filtered(by: $1) }.targetID
    #expect(try query.filtered(by: .all(filters)).targetID == oneByOne)
    #expect(try query.filtered(by: .all([filters[0], .all([filters[1], filters[2]])])).targetID == oneByOne)
    #expect(try query.filtered(by: .all([.all([filters[0], filters[1]]), filters[2]])).targetID == oneByOne)
  }

  @Test func inWithOneValueDiffersFromEqual() throws {
    #expect(try query.where("a", .isIn, [1]).targetID != query.where("a", .equal, 1).targetID)
  }

  @Test func differentQueriesHaveDifferentCanonicalIDs() throws {
    let operands: [StoredValue] = [
      .null, .boolean(true), "true", 1, 1.0, -0.0, 0.0, .double(.nan), "nan", .timestamp(timestamp(1)), "1",
      "a\",\"b", "e\u{301}", "\u{E9}", "\\u{E9}", .bytes([1]), .bytes([1, 2]), [1, 2], [[1], 2], ["1", "2"],
      .vector([1]), [1.0], .map(StoredMap([(name: "a", value: 1)])),
      .map(StoredMap([(name: "a", value: "1")])),
      .map(StoredMap([(name: "a", value: 1), (name: "b", value: 1)])),
      .map(StoredMap([(name: "a\":1,\"b", value: 1)])),
      .reference(StoredReference(projectID: "p", databaseID: "d", path: path("c", "x"))),
      .reference(StoredReference(projectID: "q", databaseID: "d", path: path("c", "x"))),
    ]
    var queries = try operands.map { try query.where("a", .equal, $0) }
    queries += try [
      query, .ofGroupC, StructuredQuery(.document(path("c", "x"))), query.where("a", .lessThan, 1),
      query.where(field("a", "b"), .equal, 1), query.where("a.b", .equal, 1), query.where("é", .equal, 1),
      query.where("e\u{301}", .equal, 1), query.order("a"), query.order("a", .descending),
      query.limited(to: .first(1)), query.limited(to: .first(11)),
      query.order("a").starting(.before, [1]), query.order("a").starting(.after, [1]),
      query.order("a").ending(.before, [1]), query.order("a").starting(.before, []),
      query.filtered(by: .any([.field("a", .equal, 1), .field("b", .equal, 1)])),
      query.filtered(
        by: .any([.all([.field("a", .equal, 1), .field("b", .equal, 1)]), .field("c", .equal, 1)])),
      query.filtered(
        by: .any([.field("a", .equal, 1), .field("b", .equal, 1), .field("c", .equal, 1)])),
      query.where("a", .equal, 1).where("b", .equal, 1),
    ]
    var order = OrderBy("a")
    order.missing = .asNull
    queries.append(try query.ordered(by: order))
    #expect(Set(queries.map(\.targetID)).count == queries.count)
    let nan = StoredValue.double(Double(bitPattern: 0xFFF8_0000_0000_0001))
    #expect(try queries.map(\.targetID).contains(query.where("a", .equal, nan).targetID))
  }
}
