// Aggregates survive the wire, and get the names that Firestore gives them.

import DocumentStore
import OfflineSync
import Testing

@testable import FirestoreWire

struct AggregationTranslationTests {
  private let database = DatabaseName(projectID: "p", databaseID: "(default)")

  private func request(_ aggregations: String) throws -> AggregationRequest {
    let json = #"{"structuredQuery":{"from":[{"collectionId":"c"}]},"aggregations":[\#(aggregations)]}"#
    return try database.aggregation(
      try Wire.StructuredAggregationQuery(json: Array(json.utf8)), parent: database.documentsName)
  }

  @Test func aggregatesWithoutANameAreNumbered() throws {
    let request = try request(
      #"{"alias":"a","count":{}},{"sum":{"field":{"fieldPath":"n"}}},{"avg":{"field":{"fieldPath":"n"}}}"#)
    let field = StoredFieldPath(unchecked: ["n"])
    #expect(request.list.aggregates == [.count, .sum(field), .average(field)])
    #expect(request.list.aliases == ["a", "field_1", "field_2"])
  }

  @Test func aggregatesSurviveTheWire() throws {
    let request = try request(
      #"{"alias":"a","count":{"upTo":"7"}},{"sum":{"field":{"fieldPath":"`a b`"}}},{"avg":{"field":{"fieldPath":"n"}}}"#
    )
    let (parent, wire) = try database.wire(request)
    let read = try Wire.StructuredAggregationQuery(protobuf: try wire.protobuf())
    let back = try database.aggregation(read, parent: parent)
    #expect(back.list.aggregates == request.list.aggregates)
    #expect(back.list.aliases == request.list.aliases)
    #expect(back.list.countsMax == [7, nil, nil])
    #expect(back.query.targetID == request.query.targetID)
  }

  /// Firestore refuses sums over a query that is ordered by name, and all queries are ordered by name at
  /// last.
  @Test func ordersThatTheQueryAddsAreNotSent() throws {
    let field = StoredFieldPath(unchecked: ["n"])
    let all = StructuredQuery(.collection(try CollectionPath(["c"])))
    let ordered = try all.ordered(by: OrderBy(field))
    #expect(try database.wire(AggregationRequest(all, [.sum(field)])).query.structuredQuery?.orderBy == [])
    let wire = try database.wire(AggregationRequest(ordered, [.sum(field)])).query.structuredQuery
    #expect(wire?.orderBy.map(\.field?.fieldPath) == ["n"])
    // A cursor may have a value for the name.
    let document = StoredDocument(
      path: DocumentPath(unchecked: ["c", "a"]), createTime: .init(microseconds: 1)!,
      updateTime: .init(microseconds: 1)!, fields: StoredMap([(name: "n", value: .integer(1))]))
    let from = try ordered.starting(.before, document)
    let cut = try database.wire(AggregationRequest(from, [.sum(field)])).query.structuredQuery
    #expect(cut?.orderBy.map(\.field?.fieldPath) == ["n", "__name__"])
  }

  @Test func aCountStopsAtItsMaximum() throws {
    let request = try request(#"{"count":{"upTo":"2"}},{"count":{}}"#)
    let result = request.list.result([.integer(5), .integer(5)])
    #expect(result.aggregateFields == StoredMap([("field_1", .integer(2)), ("field_2", .integer(5))]))
    #expect(try request.list.values(of: result) == [.integer(2), .integer(5)])
    #expect(throws: RemoteError.self) { try request.list.values(of: Wire.AggregationResult()) }
  }

  @Test(arguments: [
    ("", "Aggregations can not be empty."), (#"{"alias":"x"}"#, "Operator field in Aggregation is not set."),
    (
      #"{"alias":"a","count":{}},{"alias":"a","count":{}}"#, "Aggregation aliases contain duplicate alias: a."
    ),
    (
      #"{"alias":"field_1","count":{}},{"count":{}}"#, "Aggregation aliases contain duplicate alias: field_1."
    ),
    (#"{"alias":"__x__","count":{}}"#, #"The property.name "__x__" is reserved."#),
    (
      #"{"count":{"upTo":"-1"}}"#,
      "The `up_to` value in a COUNT aggregation must be greater than or equal to zero."
    ),
    (#"{"sum":{}}"#, "Invalid empty property path string."),
    (
      #"{"sum":{"field":{"fieldPath":"__name__"}}}"#,
      "Aggregations are not supported for the property: __key__"
    ),
  ])
  func anAggregationThatBreaksARuleIsRefused(aggregations: String, message: String) {
    #expect(throws: RemoteError(.invalidArgument, message)) { try request(aggregations) }
  }

  @Test func moreThanFiveAggregatesAreRefused() {
    let aggregations = (0..<6).map { #"{"sum":{"field":{"fieldPath":"f\#($0)"}}}"# }.joined(separator: ",")
    #expect(throws: RemoteError.self) { try request(aggregations) }
  }
}
