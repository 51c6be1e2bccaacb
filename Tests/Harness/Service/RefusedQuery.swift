// Our answers to queries that the emulator refuses, or answers by other rules, compared with the naive
// evaluator.

import DocumentStore
import FirestoreService
import FirestoreWire
import OfflineSync

/// A query that only our service answers.
struct RefusedQuery {
  private let database: DatabaseName
  private let documents: [StoredDocument]

  private static let groups = ["k", "l", "sub", "leaf"]
  private static let pageSizeStandard = 30

  /// Reads all documents of the database of a script from our service.
  init(_ database: String, _ service: ServicePeer) throws {
    let name = try DatabaseName(database)
    self.database = name
    var documents: [StoredDocument] = []
    for group in Self.groups {
      let all = #"{"structuredQuery":{"from":[{"collectionId":"\#(group)","allDescendants":true}]}}"#
      let target = "/v1/\(name.documentsName):runQuery"
      let request = RESTRequest(method: "POST", target: target, body: Array(all.utf8))
      for message in try service.messages(of: request) {
        let response = try Wire.RunQueryResponse(json: message)
        if let document = response.document {
          documents += [try name.document(document).stored].compactMap { $0 }
        }
      }
    }
    self.documents = documents
  }

  /// Describes what is wrong with our answer to a step; nil if it is the evaluator's.
  func difference(_ step: RESTStep, _ request: RESTRequest, _ ours: RESTReply) -> String? {
    do {
      if step.path.hasSuffix(":runQuery") {
        let message = try Wire.RunQueryRequest(json: request.body)
        let query = message.structuredQuery ?? .init()
        return differences(
          ours.body.elements.compactMap { $0["document"] }, try answer(to: query, step.parent))
      }
      if step.path.hasSuffix(":runAggregationQuery") {
        let message = try Wire.RunAggregationQueryRequest(json: request.body)
        return try difference(message.structuredAggregationQuery ?? .init(), step.parent, ours)
      }
      if step.method == "GET" { return try difference(ofList: step, ours) }
      return "the step is not a query"
    } catch {
      return "\(error)"
    }
  }

  /// The evaluator knows no offsets, and applies a limit before the aggregates.
  private func answer(to wire: Wire.StructuredQuery, _ parent: String) throws -> [StoredDocument] {
    let all = NaiveEvaluator(try unlimited(wire, parent)).answer(from: documents).dropFirst(Int(wire.offset))
    return Array(all.prefix(wire.limit.map { Int($0) } ?? .max))
  }

  private func unlimited(_ wire: Wire.StructuredQuery, _ parent: String) throws -> StructuredQuery {
    var wire = wire
    wire.limit = nil
    wire.offset = 0
    return try database.query(wire, parent: parent).query
  }

  private func differences(_ ours: [JSONTree], _ expected: [StoredDocument]) -> String? {
    let found = ours.map { $0["name"]?.text ?? "" }
    let names = expected.map { database.name(of: $0.path) }
    return found == names ? nil : "the query returns \(found), expected \(names)"
  }

  private func difference(
    _ wire: Wire.StructuredAggregationQuery, _ parent: String, _ ours: RESTReply
  ) throws -> String? {
    let request = try database.aggregation(wire, parent: parent)
    let query = wire.structuredQuery ?? .init()
    let evaluator = NaiveEvaluator(try unlimited(query, parent))
    let values = evaluator.results(of: request.list.aggregates, over: try answer(to: query, parent))
    var response = Wire.RunAggregationQueryResponse()
    response.result = request.list.result(values)
    let expected = (try? response.json()).flatMap { JSONTree($0)["result"]?["aggregateFields"] }
    let found = ours.body.elements.first?["result"]?["aggregateFields"]
    return found == expected ? nil : "the aggregates are \(found as Any), expected \(expected as Any)"
  }

  // MARK: Lists

  /// Compares a list with an order, of which this is the first page.
  private func difference(ofList step: RESTStep, _ ours: RESTReply) throws -> String? {
    let segments = step.path.split(separator: "/", omittingEmptySubsequences: false)
    var query = Wire.StructuredQuery()
    var selector = Wire.StructuredQuery.CollectionSelector()
    selector.collectionId = String(segments.last ?? "")
    query.from = [selector]
    for clause in (step.parameter("orderBy") ?? "").split(separator: ",") {
      let words = clause.split(separator: " ")
      var order = Wire.StructuredQuery.Order()
      order.field = .init()
      order.field?.fieldPath = String(words.first ?? "")
      order.direction = words.last == "desc" ? .descending : .ascending
      query.orderBy.append(order)
    }
    let all = try answer(to: query, segments.dropLast().joined(separator: "/"))
    let size = step.parameter("pageSize").flatMap { Int($0) } ?? 0
    let page = Array(all.prefix(size > 0 ? size : Self.pageSizeStandard))
    guard (ours.body["nextPageToken"] != nil) == (page.count < all.count) else {
      return "a list of \(all.count) documents has \(page.count) on a page, and a token: \(ours.body)"
    }
    return differences(ours.body["documents"]?.elements ?? [], page)
  }
}

extension RESTStep {
  /// The name of the parent of the collections of a query.
  fileprivate var parent: String { String(path[..<(path.lastIndex(of: ":") ?? path.endIndex)]) }

  func parameter(_ name: String) -> String? { parameters.first { $0.key == name }?.value }
}
