// Queries survive the wire, and queries that break a rule are refused with Firestore's sentence.

import DocumentStore
import Harness
import OfflineSync
import Testing

@testable import FirestoreWire

struct QueryTranslationTests {
  private let database = DatabaseName(projectID: "p", databaseID: "(default)")

  // MARK: Round trips

  @Test(arguments: 0..<40)
  func aQuerySurvivesTheWire(seed: UInt64) throws {
    var documents = DocumentGenerator(seed: seed)
    var queries = QueryGenerator(seed: seed, about: documents.documents(12))
    var sent = 0
    for _ in 0..<60 {
      let query = queries.query()
      guard (try? query.check()) != nil, isExpressible(query) else { continue }
      sent += 1
      let (parent, wire) = try database.wire(QueryRequest(query))
      let read = try database.query(try recoded(wire), parent: parent)
      #expect(read.query.targetID == query.targetID)
      #expect(read.mask == nil)
    }
    #expect(sent > 5)
  }

  /// An inequality implies an order, which decides nothing behind the one of names.
  @Test func impliedOrdersBehindTheNameAreNotWritten() throws {
    let (a, n) = (StoredFieldPath(unchecked: ["a"]), StoredFieldPath(unchecked: ["n"]))
    let query = try StructuredQuery(.collection(CollectionPath(unchecked: ["c"])))
      .filtered(by: .field(n, .lessThan, .integer(0)))
      .ordered(by: OrderBy(a)).ordered(by: OrderBy(.documentID, .descending))
    let (parent, wire) = try database.wire(QueryRequest(query))
    #expect(wire.orderBy.map { $0.field?.fieldPath } == ["a", "__name__"])
    #expect(try database.query(try recoded(wire), parent: parent).query == query)
  }

  /// Firestore has no explicit orders after the name, no field twice in an order, and one negation at most.
  private func isExpressible(_ query: StructuredQuery) -> Bool {
    if case .document = query.scope { return false }
    let run = query.executableForm
    let isNameExplicit = run.explicitOrders.last?.field == .documentID
    let fields = (isNameExplicit ? run.explicitOrders : run.orders).map(\.field)
    let leaves = query.filters.flatMap(\.leaves)
    let cursors = [query.start, query.end].compactMap { $0 }
    return Set(fields).count == fields.count && fields.last == .documentID
      && !query.orders.contains { $0.missing == .asNull }
      && leaves.count { [.notEqual, .notIn].contains($0.operator) } <= 1
      && cursors.allSatisfy { !$0.values.isEmpty && $0.values.count <= fields.count }
      && (leaves.map(\.operand) + cursors.flatMap(\.values)).allSatisfy(isExpressible)
  }

  /// A pending time and a map with an empty name are never part of a message.
  private func isExpressible(_ value: StoredValue) -> Bool {
    switch value {
    case .pendingTimestamp: false
    case .array(let elements): elements.allSatisfy(isExpressible)
    case .map(let map):
      map.entries.allSatisfy { (1...1500).contains($0.name.utf8.count) && isExpressible($0.value) }
    default: true
    }
  }

  /// The message after a way through protobuf, and through JSON.
  private func recoded(_ wire: Wire.StructuredQuery) throws -> Wire.StructuredQuery {
    var limits = WireLimits()
    limits.documents = DocumentReading(.received)
    let read = try Wire.StructuredQuery(protobuf: try wire.protobuf(), limits: limits)
    #expect(read == wire)
    return try Wire.StructuredQuery(json: try read.json(), limits: limits)
  }

  @Test func offsetLimitAndProjectionAreRead() throws {
    var wire = query()
    wire.offset = 3
    wire.limit = 0
    wire.select = Wire.StructuredQuery.Projection()
    wire.select?.fields = [field("a.b"), field("__name__")]
    let read = try database.query(wire, parent: database.documentsName)
    #expect(read.query.offset == 3)
    #expect(read.query.limit == .first(0))
    #expect(read.mask == FieldMask([StoredFieldPath(unchecked: ["a", "b"])]))
    let (_, written) = try database.wire(read)
    #expect(written.offset == 3 && written.limit == 0)
    #expect(written.select?.fields == [field("a.b")])
    wire.select?.fields = []
    #expect(try database.query(wire, parent: database.documentsName).mask?.isEmpty == true)
  }

  @Test func cursorsAreBeforeOrAfterTheirValues() throws {
    for (before, side) in [(true, Cursor.Side.before), (false, .after)] {
      var wire = query()
      wire.orderBy = [order("n")]
      wire.startAt = Wire.Cursor()
      wire.startAt?.values = [.integer(1)]
      wire.startAt?.before = before
      wire.endAt = wire.startAt
      let read = try database.query(wire, parent: database.documentsName).query
      #expect(read.start == Cursor(side, [.integer(1)]))
      #expect(read.end == Cursor(side, [.integer(1)]))
    }
  }

  @Test func aCursorWithoutValuesIsBeforeOrAfterAllDocuments() throws {
    for (cursor, isVoid) in [
      (#""startAt":{"before":true}"#, false), (#""startAt":{}"#, true), (#""endAt":{}"#, false),
      (#""endAt":{"before":true}"#, true),
    ] {
      let wire = try Wire.StructuredQuery(json: Array(Self.ordered("", cursor).utf8))
      let read = try database.query(wire, parent: database.documentsName).query
      #expect(read.start == nil && read.end == nil)
      #expect(read.limit == (isVoid ? .first(0) : nil))
    }
  }

  @Test func aGroupBelowADocumentHasOnlyItsDescendants() throws {
    var wire = query()
    wire.from[0].allDescendants = true
    let paths = [
      ["c", "1"], ["a", "x", "c", "2"], ["a", "x", "b", "y", "c", "3"], ["a", "x0", "c", "4"],
      ["a", "y", "c", "5"],
    ]
    let time = try #require(StoredTimestamp(microseconds: 0))
    let documents = try paths.map {
      StoredDocument(path: try DocumentPath($0), createTime: time, updateTime: time, fields: StoredMap())
    }
    let read = try database.query(wire, parent: "\(database.documentsName)/a/x").query
    #expect(read.answer(from: documents).map(\.path.id) == ["3", "2"])
  }

  @Test(arguments: ["__id7__", "__id-7__", "__id9223372036854775807__", "x", "\u{0}", "__id07__x"])
  func aGroupBelowAnyIdHasOnlyItsDescendants(id: String) throws {
    var wire = query()
    wire.from[0].allDescendants = true
    let ids = [
      "__id-9__", "__id-7__", "__id-6__", "__id7__", "__id8__", "__id9223372036854775807__", "\u{0}",
      "\u{0}\u{0}", "A", "__id07__x", "x", "x\u{0}", "y",
    ]
    let time = try #require(StoredTimestamp(microseconds: 0))
    let documents = ids.map {
      StoredDocument(
        path: DocumentPath(unchecked: ["a", $0, "c", $0]), createTime: time, updateTime: time,
        fields: StoredMap())
    }
    let read = try database.query(wire, parent: "\(database.documentsName)/a/\(id)").query
    #expect(read.answer(from: documents).map(\.path.id) == [id])
  }

  // MARK: Rules

  private static let documents = "projects/p/databases/(default)/documents"

  /// A `where` as JSON, and the sentence that refuses it.
  @Test(arguments: [
    (#"{}"#, "Unknown Filter type."),
    (filter("n", "OPERATOR_UNSPECIFIED", #"{"stringValue":"x"}"#), "Unknown FieldFilter operator."),
    (
      #"{"fieldFilter":{"field":{"fieldPath":"n"},"op":"EQUAL"}}"#,
      "Cannot convert firestore.v1.Value with type unset."
    ),
    (#"{"fieldFilter":{"op":"EQUAL","value":{"nullValue":null}}}"#, "Invalid empty property path string."),
    (filter("__x__", "EQUAL", #"{"nullValue":null}"#), "Invalid reserved name in field path __x__"),
    (filter("n", "IN", #"{"stringValue":"x"}"#), "'IN' requires an ArrayValue."),
    (filter("n", "IN", list(0)), "'IN' requires an non-empty ArrayValue."),
    (filter("n", "IN", list(31)), "'IN' supports up to 30 comparison values."),
    (filter("n", "NOT_IN", list(11)), "'NOT_IN' supports up to 10 comparison values."),
    (
      filter("n", "ARRAY_CONTAINS_ANY", list(31)), "'ARRAY_CONTAINS_ANY' supports up to 30 comparison values."
    ),
    (
      composite("AND", [filter("a", "ARRAY_CONTAINS", list(1)), filter("b", "ARRAY_CONTAINS_ANY", list(1))]),
      "A maximum of 1 'ARRAY_CONTAINS' filter is allowed per disjunction."
    ),
    (
      composite("AND", [filter("a", "NOT_IN", list(1)), filter("b", "NOT_EQUAL", list(1))]),
      "Only a single 'NOT_EQUAL', 'NOT_IN', 'IS_NOT_NAN', or 'IS_NOT_NULL' filter allowed per query."
    ),
    (
      composite("AND", [filter("a", "NOT_IN", list(1)), filter("b", "IN", list(1))]),
      "'NOT_IN' cannot be used in the same query with 'IN', 'ARRAY_CONTAINS_ANY' or 'OR'."
    ),
    (composite("OR", []), "Composite filter must have at least one sub-filter."),
    (composite("OPERATOR_UNSPECIFIED", []), "Unsupported CompositeFilter operator."),
    (#"{"unaryFilter":{"field":{"fieldPath":"a"}}}"#, "Unknown UnaryFilter operator."),
    (#"{"unaryFilter":{"op":"IS_NULL"}}"#, "Unsupported UnaryFilter operand type (non-FIELD)."),
    (filter("__name__", "EQUAL", #"{"stringValue":"x"}"#), "__key__ filter value must be a Key"),
    (
      filter("__name__", "EQUAL", #"{"referenceValue":"projects/q/databases/(default)/documents/c/d"}"#),
      "The request was for database 'projects/p/databases/(default)' but was attempting to access database 'projects/q/databases/(default)'"
    ),
    (
      filter("__name__", "ARRAY_CONTAINS", #"{"referenceValue":"\#(documents)/c/d"}"#),
      "the name __key__ is reserved"
    ),
    (
      composite("AND", [filter("a", "IN", list(6)), filter("b", "IN", list(6))]),
      "Too many disjunctions after normalization. Result had 36 disjunctions which is more than the maximum of 30"
    ),
    (
      composite("AND", (0..<11).map { filter("f\($0)", "GREATER_THAN", #"{"integerValue":"0"}"#) }),
      "The query contains 11 distinct inequality fields. A query may not have more than 10 distinct inequality fields."
    ),
    (
      composite("AND", (0..<101).map { filter("f\($0)", "EQUAL", #"{"integerValue":"0"}"#) }),
      "The query may not have more than 100 filters + sort orders + ancestor total. Currently there are 101 filters, 0 sort orders, and no ancestor filter."
    ),
  ])
  func aFilterThatBreaksARuleIsRefused(filter: String, message: String) throws {
    var wire = query()
    wire.where = try Wire.StructuredQuery.Filter(json: Array(filter.utf8))
    #expect(throws: RemoteError(.invalidArgument, message)) {
      try database.query(wire, parent: database.documentsName)
    }
  }

  /// A query as JSON, its parent below the root, and the error that refuses it.
  @Test(arguments: [
    (
      #"{"from":[{"collectionId":"c"},{"collectionId":"d"}]}"#, "",
      "StructuredQuery.from cannot have more than one collection selector."
    ),
    (#"{"from":[{"collectionId":"a/b"}]}"#, "", #"Collection id "a/b" is invalid because it contains "/"."#),
    (
      #"{"from":[{"collectionId":"__x__"}]}"#, "",
      #"Collection id "__x__" is invalid because it is reserved."#
    ),
    (
      #"{"from":[{"collectionId":"c"}]}"#, "/a",
      #"Document parent name "\#(documents)/a" lacks "/" at index 42."#
    ),
    (#"{"from":[{"collectionId":"c"}],"limit":-1}"#, "", "limit is negative"),
    (#"{"from":[{"collectionId":"c"}],"offset":-1}"#, "", "offset is negative"),
    (
      ordered(#"{"field":{"fieldPath":"n"}},{"field":{"fieldPath":"n"}}"#), "",
      "order by clause cannot contain duplicate fields n"
    ),
    (
      ordered(#"{"field":{"fieldPath":"__name__"}},{"field":{"fieldPath":"n"}}"#), "",
      "order by clause cannot contain more fields after the key"
    ),
    (ordered(#"{"direction":"ASCENDING"}"#), "", "Invalid empty property path string."),
    (ordered("", #""startAt":{"values":[{"nullValue":null}]}"#), "", "Cursor has too many values."),
    (
      ordered(#"{"field":{"fieldPath":"__name__"}}"#, #""startAt":{"values":[{"stringValue":"d"}]}"#), "",
      "Cursor __key__ value is not a document reference."
    ),
    (
      ordered(
        #"{"field":{"fieldPath":"__name__"}}"#,
        #""endAt":{"values":[{"referenceValue":"projects/q/databases/d/documents/c/d"}]}"#), "",
      "The cursor key is in a different database than the query"
    ),
    (
      #"{"from":[{"collectionId":"c"}],"select":{"fields":[{"fieldPath":"a..b"}]}}"#, "",
      "Invalid property path \"a..b\". Unquoted property paths must match regex ([a-zA-Z_][a-zA-Z_0-9]*), and quoted property paths must match regex (`(?:[^`\\\\]|(?:\\\\.))+`)"
    ),
  ])
  func aQueryThatBreaksARuleIsRefused(json: String, parent: String, message: String) throws {
    let wire = try Wire.StructuredQuery(json: Array(json.utf8))
    #expect(throws: RemoteError(.invalidArgument, message)) {
      try database.query(wire, parent: database.documentsName + parent)
    }
  }

  @Test func anUnknownDirectionIsRefused() throws {
    for (direction, isValid) in [("0", true), ("1", true), ("2", true), ("3", false), ("7", false)] {
      let json = Self.ordered(#"{"field":{"fieldPath":"n"},"direction":\#(direction)}"#)
      let wire = try Wire.StructuredQuery(json: Array(json.utf8))
      let read = try Wire.StructuredQuery(protobuf: try wire.protobuf())
      for wire in [wire, read] {
        let query = Result { try database.query(wire, parent: database.documentsName) }
        guard !isValid else {
          #expect(throws: Never.self) { try query.get() }
          continue
        }
        #expect(throws: RemoteError(.invalidArgument, "Unrecognized ordering.")) { try query.get() }
      }
    }
  }

  @Test func ordersAreCountedBeforeTheyAreRead() throws {
    var wire = query()
    wire.orderBy = (0...100).map { order("-\($0)") }
    let error = RemoteError(
      .invalidArgument,
      "The query may not have more than 100 filters + sort orders + ancestor total. Currently there are 0 "
        + "filters, 101 sort orders, and no ancestor filter.")
    #expect(throws: error) { try database.query(wire, parent: database.documentsName) }
  }

  @Test func whatTheEngineLacksIsUnimplemented() throws {
    for json in [
      #"{}"#, #"{"from":[{"allDescendants":true}]}"#, #"{"from":[{"collectionId":"c"}],"findNearest":{}}"#,
    ] {
      let wire = try Wire.StructuredQuery(json: Array(json.utf8))
      let error = #expect(throws: RemoteError.self) {
        try database.query(wire, parent: database.documentsName)
      }
      #expect(error?.code == .unimplemented)
    }
  }

  @Test func anEmptyConjunctionHoldsForEveryDocument() throws {
    var wire = query()
    wire.where = try Wire.StructuredQuery.Filter(
      json: Array(Self.composite("AND", [Self.composite("AND", [])]).utf8))
    #expect(try database.query(wire, parent: database.documentsName).query.filters.isEmpty)
  }

  @Test func unaryFiltersCompareWithNullAndNaN() throws {
    for (op, kind, operand) in [
      ("IS_NULL", FieldFilter.Operator.equal, StoredValue.null), ("IS_NOT_NULL", .notEqual, .null),
      ("IS_NAN", .equal, .double(.nan)), ("IS_NOT_NAN", .notEqual, .double(.nan)),
    ] {
      var wire = query()
      let json = #"{"unaryFilter":{"op":"\#(op)","field":{"fieldPath":"a"}}}"#
      wire.where = try Wire.StructuredQuery.Filter(json: Array(json.utf8))
      let read = try database.query(wire, parent: database.documentsName).query
      #expect(read.filters == [.field(StoredFieldPath(unchecked: ["a"]), kind, operand)])
      #expect(try database.wire(QueryRequest(read)).query.where == wire.where)
    }
  }

  // MARK: Messages

  private func query() -> Wire.StructuredQuery {
    var query = Wire.StructuredQuery()
    query.from = [Wire.StructuredQuery.CollectionSelector()]
    query.from[0].collectionId = "c"
    return query
  }

  private func field(_ path: String) -> Wire.StructuredQuery.FieldReference {
    var field = Wire.StructuredQuery.FieldReference()
    field.fieldPath = path
    return field
  }

  private func order(_ path: String) -> Wire.StructuredQuery.Order {
    var order = Wire.StructuredQuery.Order()
    order.field = field(path)
    return order
  }

  private static func filter(_ field: String, _ op: String, _ value: String) -> String {
    #"{"fieldFilter":{"field":{"fieldPath":"\#(field)"},"op":"\#(op)","value":\#(value)}}"#
  }

  private static func composite(_ op: String, _ filters: [String]) -> String {
    #"{"compositeFilter":{"op":"\#(op)","filters":[\#(filters.joined(separator: ","))]}}"#
  }

  private static func list(_ count: Int) -> String {
    let values = (0..<count).map { #"{"integerValue":"\#($0)"}"# }.joined(separator: ",")
    return #"{"arrayValue":{"values":[\#(values)]}}"#
  }

  private static func ordered(_ orders: String, _ more: String = #""offset":0"#) -> String {
    #"{"from":[{"collectionId":"c"}],"orderBy":[\#(orders)],\#(more)}"#
  }
}
