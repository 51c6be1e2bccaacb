// The results of queries, their order, and cursors.

import DocumentStore
import Testing

@Suite struct StructuredQueryTests {
  // MARK: Scope

  @Test func collectionQueryFindsOnlyDirectChildren() {
    let documents = [
      document(at: ["c", "a"]), document(at: ["c", "a", "c", "b"]), document(at: ["d", "c"]),
      document(at: ["d", "x", "c", "e"]), document(at: ["c\u{301}", "f"]),
    ]
    #expect(StructuredQuery.ofC.ids(documents) == ["a"])
    #expect(StructuredQuery.ofGroupC.ids(documents) == ["a", "b", "e"])
    #expect(StructuredQuery(.collection(path("d", "x", "c", "e").parent)).ids(documents) == ["e"])
    #expect(StructuredQuery(.document(path("d", "c"))).ids(documents) == ["c"])
  }

  // MARK: Order

  @Test func withoutAnOrderDocumentsAreSortedByName() {
    let ids = ["__id-7__", "__id7__", "__id10__", "__id7_", "a", "aa", "b", "e\u{301}", "\u{E9}", "\u{FFFF}"]
    #expect(StructuredQuery.ofC.ids(ids.reversed().map { document($0) }) == ids)
  }

  @Test func implicitOrdersFollowExplicitOrdersAndTakeTheLastDirection() throws {
    let query = try StructuredQuery.ofC
      .where("b", .greaterThan, 1).where(field("a", "z"), .lessThan, 1).where("é", .notEqual, 1)
      .where("x", .equal, 1).where("y", .isIn, [1]).where("z", .arrayContains, 1)
    #expect(query.orders.map(\.field) == [field("a", "z"), "b", "é", .documentID])
    #expect(query.orders.allSatisfy { $0.direction == .ascending })

    let ordered = try query.order("n").order("b", .descending)
    #expect(ordered.orders.map(\.field) == ["n", "b", field("a", "z"), "é", .documentID])
    #expect(
      ordered.orders.map(\.direction) == [.ascending, .descending, .descending, .descending, .descending])

    let named = try query.order(.documentID)
    #expect(named.orders.map(\.field) == [.documentID, field("a", "z"), "b", "é"])
  }

  @Test func implicitOrdersOfSeveralFieldsGoByTheBytesOfTheirNames() throws {
    let fields: [StoredFieldPath] = [
      "a", field("a", "a"), field("a", "b"), "a.", "b", "e\u{301}", "\u{E9}", "\u{FFFF}", "\u{1F600}",
    ]
    var query = StructuredQuery.ofC
    for field in fields.reversed() { query = try query.where(field, .greaterThan, 1) }
    #expect(query.orders.map(\.field) == fields + [.documentID])
  }

  @Test func inequalitiesWithinCompositesAddImplicitOrders() throws {
    let query = try StructuredQuery.ofC.filtered(
      by: .any([.field("b", .lessThan, 1), .all([.field("a", .greaterThan, 1), .field("b", .equal, 1)])]))
    #expect(query.orders.map(\.field) == ["a", "b", .documentID])
  }

  @Test func anInequalityOnTheNameAddsNoOrder() throws {
    let query = try StructuredQuery.ofC.where(.documentID, .greaterThan, "a")
    #expect(query.orders == [OrderBy(.documentID)])
  }

  @Test func orderExcludesMissingFieldsButIncludesNull() throws {
    let documents = [document("1"), document("2", ("a", .null)), document("3", ("a", 0))]
    #expect(try StructuredQuery.ofC.order("a").ids(documents) == ["2", "3"])
    #expect(try StructuredQuery.ofC.order("a", .descending).ids(documents) == ["3", "2"])
  }

  @Test func orderCanTreatMissingFieldsAsNull() throws {
    let documents = [document("1", ("a", 0)), document("2", ("a", .null)), document("3")]
    var order = OrderBy("a")
    order.missing = .asNull
    let query = try StructuredQuery.ofC.ordered(by: order)
    #expect(query.ids(documents) == ["2", "3", "1"])
    #expect(try query.starting(.after, [.null]).ids(documents) == ["1"])
  }

  @Test func tiesAreBrokenByTheNextFieldAndFinallyByName() throws {
    let documents = [
      document("3", ("a", 1), ("b", 1)), document("2", ("a", 1.0), ("b", 2)),
      document("1", ("a", 1), ("b", 1)),
      document("0", ("a", 0.5), ("b", 9)),
    ]
    #expect(
      try StructuredQuery.ofC.order("a").order("b", .descending).ids(documents) == ["0", "2", "3", "1"])
    #expect(try StructuredQuery.ofC.order("a").ids(documents) == ["0", "1", "2", "3"])
  }

  // MARK: Cursors

  private let rows = [
    document("1", ("a", 1), ("b", 1)), document("2", ("a", 1.0), ("b", 2)), document("3", ("a", 2), ("b", 1)),
    document("4", ("a", 3), ("b", 0)),
  ]

  @Test func cursorsAreBeforeOrAfterEqualDocuments() throws {
    let query = try StructuredQuery.ofC.order("a")
    #expect(try query.starting(.before, [1]).ids(rows) == ["1", "2", "3", "4"])
    #expect(try query.starting(.after, [1]).ids(rows) == ["3", "4"])
    #expect(try query.ending(.before, [2]).ids(rows) == ["1", "2"])
    #expect(try query.ending(.after, [2]).ids(rows) == ["1", "2", "3"])
    #expect(try query.starting(.after, [1]).ending(.before, [3]).ids(rows) == ["3"])
    #expect(try query.starting(.after, [2]).ending(.before, [2]).ids(rows) == [])
    #expect(try query.starting(.after, [2]).starting(.after, [1]).ids(rows) == ["3", "4"])
  }

  @Test func cursorsHonourDirections() throws {
    let query = try StructuredQuery.ofC.order("a", .descending).order("b")
    #expect(query.ids(rows) == ["4", "3", "1", "2"])
    #expect(try query.starting(.before, [2]).ids(rows) == ["3", "1", "2"])
    #expect(try query.starting(.after, [1, 1]).ids(rows) == ["2"])
    #expect(try query.ending(.before, [1, 2]).ids(rows) == ["4", "3", "1"])
  }

  @Test func cursorOfAnotherTypeIsPlacedByTheTypeOrder() throws {
    let query = try StructuredQuery.ofC.order("a")
    #expect(try query.starting(.before, [.null]).ids(rows) == ["1", "2", "3", "4"])
    #expect(try query.starting(.before, [""]).ids(rows) == [])
    #expect(try query.ending(.after, ["a"]).ids(rows) == ["1", "2", "3", "4"])
  }

  @Test func emptyCursorIsBeforeOrAfterAllDocuments() throws {
    let query = try StructuredQuery.ofC.order("a")
    #expect(try query.starting(.before, []).ids(rows) == ["1", "2", "3", "4"])
    #expect(try query.starting(.after, []).ids(rows) == [])
  }

  @Test func documentCursorIncludesItsName() throws {
    let query = try StructuredQuery.ofC.order("a")
    #expect(try query.starting(.before, rows[1]).ids(rows) == ["2", "3", "4"])
    #expect(try query.starting(.after, rows[0]).ids(rows) == ["2", "3", "4"])
    #expect(try query.ending(.before, rows[1]).ids(rows) == ["1"])
    #expect(try query.ending(.after, rows[1]).ids(rows) == ["1", "2"])
    #expect(try StructuredQuery.ofC.starting(.after, rows[2]).ids(rows) == ["4"])
  }

  @Test func nameCursorIsAnIDOrAPath() throws {
    let documents = ["__id7__", "__id10__", "a", "b"].map { document($0) }
    let query = try StructuredQuery.ofC.order(.documentID)
    #expect(try query.starting(.after, ["__id7__"]).ids(documents) == ["__id10__", "a", "b"])
    #expect(try query.ending(.before, ["a"]).ids(documents) == ["__id7__", "__id10__"])
    let group = try StructuredQuery.ofGroupC.order(.documentID, .descending)
    #expect(try group.starting(.before, ["c/a"]).ids(documents) == ["a", "__id10__", "__id7__"])
  }

  @Test func nameWithoutSegmentsSortsFirst() throws {
    let documents = ["a", "b"].map { document($0) }
    let group = try StructuredQuery.ofGroupC.order(.documentID)
    let after = try ["", "/"].map { try group.starting(.after, [.string($0)]).ids(documents) }
    #expect(after == [["a", "b"], ["a", "b"]])
    let before = try ["", "/"].map { try group.ending(.after, [.string($0)]).ids(documents) }
    #expect(before == [[], []])
    #expect(try StructuredQuery.ofGroupC.where(.documentID, .greaterThan, "/").ids(documents) == ["a", "b"])
    #expect(try StructuredQuery.ofC.order(.documentID).starting(.after, [""]).ids(documents) == ["a", "b"])
  }

  @Test func filtersOnTheNameCompareNames() throws {
    let documents = ["__id7__", "__id10__", "a", "b"].map { document($0) }
    let query = StructuredQuery.ofC
    #expect(try query.where(.documentID, .equal, "a").ids(documents) == ["a"])
    #expect(try query.where(.documentID, .greaterThan, "__id7__").ids(documents) == ["__id10__", "a", "b"])
    #expect(try query.where(.documentID, .isIn, ["b", "x", "__id7__"]).ids(documents) == ["__id7__", "b"])
    #expect(try query.where(.documentID, .notIn, ["b"]).ids(documents) == ["__id7__", "__id10__", "a"])
    let reference = StoredReference(projectID: "p", databaseID: "d", path: path("c", "a"))
    #expect(try query.where(.documentID, .notEqual, .reference(reference)).ids(documents).count == 3)
    #expect(try StructuredQuery.ofGroupC.where(.documentID, .lessThan, "/c/a/").ids(documents).count == 2)
  }

  // MARK: Limits

  @Test func limitToLastReturnsDocumentsInQueryOrder() throws {
    let query = try StructuredQuery.ofC.order("a")
    #expect(try query.limited(to: .last(2)).ids(rows) == ["3", "4"])
    #expect(try query.limited(to: .first(2)).limited(to: .last(3)).ids(rows) == ["2", "3", "4"])
    #expect(try query.limited(to: .last(9)).limited(to: .first(1)).ids(rows) == ["1"])
    let bounded = try query.starting(.after, [1]).ending(.before, [3])
    #expect(try bounded.limited(to: .last(2)).ids(rows) == ["3"])
    #expect(try query.ending(.after, [2]).limited(to: .last(2)).ids(rows) == ["2", "3"])
  }

  @Test func limitToLastRunsTheMirroredQuery() throws {
    let query = try StructuredQuery.ofC.where("b", .greaterThan, 0).order("a")
      .starting(.before, [1]).ending(.before, [3])
    #expect(query.executableForm == query)
    let run = try query.limited(to: .last(2)).executableForm
    #expect(run.orders == ["a", "b", .documentID].map { OrderBy($0, .descending) })
    #expect(run.start == Cursor(.after, [3]))
    #expect(run.end == Cursor(.after, [1]))
    #expect(run.limit == .first(2))
  }
}
