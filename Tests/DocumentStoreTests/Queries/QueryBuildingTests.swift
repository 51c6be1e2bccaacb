// Invalid queries and their error messages.

import DocumentStore
import Testing

@Suite struct QueryBuildingTests {
  private let query = StructuredQuery.ofC

  private func complaint<Result>(_ body: () throws -> Result) -> String? { failure(of: body)?.complaint }

  // MARK: Filters

  @Test(arguments: [
    (FieldFilter.Operator.isIn, "in"), (.notIn, "notIn"), (.arrayContainsAny, "arrayContainsAny"),
  ])
  func listsAreNotEmpty(list: (operator: FieldFilter.Operator, name: String)) {
    #expect(
      complaint { try query.where("a", list.operator, []) }
        == "Invalid Query. A non-empty array is required for '\(list.name)' filters.")
  }

  /// Pairs of operators that conflict, in either order. All other pairs are allowed.
  @Test func operatorConflictsMatchTheTable() throws {
    let conflicts: [FieldFilter.Operator: Set<FieldFilter.Operator>] = [
      .notEqual: [.notEqual, .notIn], .notIn: [.notIn, .notEqual, .isIn, .arrayContainsAny],
      .isIn: [.notIn], .arrayContainsAny: [.notIn],
    ]
    var wrong: [String] = []
    for first in FieldFilter.Operator.allCases {
      for second in FieldFilter.Operator.allCases {
        let present = try query.where("a", first, first.takesList ? [1] : 1)
        let expected: String? =
          if conflicts[second]?.contains(first) != true {
            nil
          } else if first == second {
            "Invalid Query. You cannot use more than one '\(second.rawValue)' filter."
          } else {
            "Invalid Query. You cannot use '\(second.rawValue)' filters with '\(first.rawValue)' filters."
          }
        let added = FilterTree.field("b", second, second.takesList ? [1] : 1)
        let complaints = [
          complaint { try present.filtered(by: added) },
          complaint { try present.filtered(by: .any([added, .field("c", .equal, 1)])) },
        ]
        if complaints != [expected, expected] { wrong.append("\(first) and \(second): \(complaints)") }
      }
    }
    #expect(wrong == [])
  }

  @Test func filtersWithinOneCompositeMayConflict() {
    let both = FilterTree.all([.field("a", .isIn, [1]), .field("b", .notIn, [1])])
    #expect(
      complaint { try query.filtered(by: both) }
        == "Invalid Query. You cannot use 'notIn' filters with 'in' filters.")
  }

  @Test func operatorsHaveTheNamesUsedInErrorMessages() {
    #expect(
      FieldFilter.Operator.allCases.map(\.rawValue) == [
        "lessThan", "lessThanOrEqual", "equal", "notEqual", "greaterThanOrEqual", "greaterThan",
        "arrayContains", "arrayContainsAny", "in", "notIn",
      ])
  }

  @Test func emptyCompositesChangeNothing() throws {
    #expect(try query.filtered(by: .any([.all([])])) == query)
    #expect(try query.filtered(by: .all([.field("a", .equal, 1)])).filters == [.field("a", .equal, 1)])
  }

  @Test func documentIDFiltersRequireDocumentIDs() {
    let asks = "Invalid query. When querying by document ID you must provide a valid"
    #expect(
      complaint { try query.where(.documentID, .arrayContains, "a") }
        == "Invalid query. You can't perform arrayContains queries on document ID since document IDs are "
        + "not arrays.")
    #expect(
      complaint { try query.where(.documentID, .arrayContainsAny, ["a"]) }
        == "Invalid query. You can't perform arrayContainsAny queries on document ID since document IDs are "
        + "not arrays.")
    #expect(
      complaint { try query.where(.documentID, .equal, "") }
        == "\(asks) document ID, but it was an empty string.")
    #expect(
      complaint { try query.where(.documentID, .isIn, ["a", "a/b"]) }
        == "Invalid query. When querying a collection by document ID you must provide a plain document ID, "
        + "but 'a/b' contains a '/' character.")
    #expect(
      complaint { try StructuredQuery.ofGroupC.where(.documentID, .equal, "a") }
        == "Invalid query. When querying a collection group by document ID, the value provided must result "
        + "in a valid document path, but 'a' is not because it has an odd number of segments.")
    #expect(
      complaint { try StructuredQuery.ofGroupC.where(.documentID, .equal, "a//b") }
        == "Invalid path (a//b). Paths must not contain // in them.")
    #expect(
      complaint { try query.where(.documentID, .equal, 1) }
        == "\(asks) string or DocumentReference, but it was of type: number")
  }

  // MARK: Orders and limits

  @Test func ordersComeBeforeCursors() throws {
    let ordered = try query.order("a")
    #expect(
      complaint { try ordered.starting(.before, [1]).order("b") }
        == "Invalid query. You must not specify a starting point before specifying the order by.")
    #expect(
      complaint { try ordered.ending(.before, [1]).order("b") }
        == "Invalid query. You must not specify an ending point before specifying the order by.")
  }

  @Test(arguments: [0, -1, Int.min]) func limitsArePositive(count: Int) {
    let message = "Invalid Query. Query limit (\(count)) is invalid. Limit must be positive."
    #expect(complaint { try query.limited(to: .first(count)) } == message)
    #expect(complaint { try query.limited(to: .last(count)) } == message)
  }

  // MARK: Cursors

  @Test func cursorHasAtMostOneValuePerExplicitOrder() throws {
    let ordered = try query.where("b", .greaterThan, 1).order("a")
    let message =
      "Invalid query. You are trying to start or end a query using more values than were specified in the "
      + "order by."
    #expect(complaint { try ordered.starting(.before, [1, 2]) } == message)
    #expect(complaint { try ordered.ending(.after, [1, 2]) } == message)
    #expect(complaint { try query.starting(.after, ["x"]) } == message)
    #expect(complaint { try ordered.ending(.after, [1]) } == nil)
  }

  @Test func cursorsOnTheNameAreStrings() throws {
    let ordered = try query.order(.documentID)
    let group = try StructuredQuery.ofGroupC.order(.documentID)
    #expect(
      complaint { try ordered.starting(.before, [1]) }
        == "Invalid query. Expected a string for the document ID.")
    #expect(
      complaint { try ordered.starting(.before, ["a/b"]) }
        == "Invalid query. When querying a collection and ordering by document ID, you must pass a plain "
        + "document ID, but 'a/b' contains a slash.")
    #expect(
      complaint { try group.ending(.before, ["a/b/c"]) }
        == "Invalid query. When querying a collection group and ordering by document ID, you must pass a "
        + "value that results in a valid document path, but 'a/b/c' is not because it contains an odd number "
        + "of segments.")
    #expect(complaint { try group.ending(.before, ["a/b"]) } == nil)
  }

  @Test func cursorDocumentMustExistAndHaveEveryOrderedField() throws {
    let ordered = try query.where(field("m", "é"), .greaterThan, 1).order("a")
    let attempt = "Invalid query. You are trying to start or end a query using a document"
    #expect(complaint { try ordered.starting(.before, nil) } == "\(attempt) that doesn't exist.")
    #expect(
      complaint { try ordered.starting(.before, document("x")) }
        == "\(attempt) for which the field 'a' (used as the order by) does not exist.")
    #expect(
      complaint { try ordered.ending(.before, document("x", ("a", 1))) }
        == "\(attempt) for which the field 'm.`é`' (used as the order by) does not exist.")
  }
}
