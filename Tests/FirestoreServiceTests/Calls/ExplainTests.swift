// Explanations of queries.

import DocumentStore
import FirestoreWire
import OfflineSync
import Testing

@testable import FirestoreService

@Suite struct ExplainTests {
  private let service: TestService

  init() throws {
    service = try TestService()
    for number in 0..<20 { try service.set(["rooms/\(number)": Int64(number % 4)]) }
    try service.store.createIndex(
      IndexDefinition("rooms", .collection, [.init(StoredFieldPath(dotted: "n"))]))
  }

  private func query(where number: Int64?) -> Wire.StructuredQuery {
    var query = Wire.StructuredQuery()
    query.from = [Wire.StructuredQuery.CollectionSelector()]
    query.from[0].collectionId = "rooms"
    guard let number else { return query }
    var filter = Wire.StructuredQuery.FieldFilter()
    filter.field = Wire.StructuredQuery.FieldReference()
    filter.field?.fieldPath = "n"
    filter.op = .equal
    filter.value = .integer(number)
    query.where = Wire.StructuredQuery.Filter()
    query.where?.filterType = .fieldFilter(filter)
    return query
  }

  private func answers(
    _ query: Wire.StructuredQuery, analyze: Bool, _ change: (inout Wire.RunQueryRequest) -> Void = { _ in }
  ) throws -> [Wire.ExplainedQueryResponse] {
    var request = Wire.RunQueryRequest()
    request.parent = TestService.documents
    request.structuredQuery = query
    request.explainOptions = Wire.ExplainOptions()
    request.explainOptions?.analyze = analyze
    change(&request)
    return try service.answers("RunQuery", request)
  }

  private func aggregation(analyze: Bool) throws -> [Wire.ExplainedAggregationResponse] {
    var request = Wire.RunAggregationQueryRequest()
    request.parent = TestService.documents
    request.structuredAggregationQuery = Wire.StructuredAggregationQuery()
    request.structuredAggregationQuery?.structuredQuery = query(where: 1)
    var count = Wire.StructuredAggregationQuery.Aggregation()
    count.operator = .count(Wire.StructuredAggregationQuery.Aggregation.Count())
    request.structuredAggregationQuery?.aggregations = [count]
    request.explainOptions = Wire.ExplainOptions()
    request.explainOptions?.analyze = analyze
    return try service.answers("RunAggregationQuery", request)
  }

  private func index(_ fields: String) -> Wire.PlanSummary {
    var summary = Wire.PlanSummary()
    summary.indexesUsed = [["query_scope": "Collection", "properties": "(\(fields))"]]
    return summary
  }

  @Test func aPlanAloneIsSentWithoutResults() throws {
    for (number, fields) in [(nil, "__name__ ASC"), (1, "n ASC, __name__ ASC")] as [(Int64?, String)] {
      var plan = Wire.ExplainedQueryResponse()
      plan.explainMetrics = Wire.ExplainMetrics()
      plan.explainMetrics?.planSummary = index(fields)
      #expect(try answers(query(where: number), analyze: false) == [plan])
    }
    let counted = try aggregation(analyze: false)
    #expect(counted.map(\.response) == [Wire.RunAggregationQueryResponse()])
    #expect(counted[0].explainMetrics?.planSummary == index("n ASC, __name__ ASC"))
    #expect(counted[0].explainMetrics?.executionStats == nil)
  }

  @Test func theLastMessageOfAQueryHasItsMetrics() throws {
    for (offset, limit, results, reads) in [(0, nil, 5, 5), (2, nil, 3, 5), (9, nil, 0, 5), (0, 0, 0, 1)]
      as [(Int32, Int32?, Int, Int64)]
    {
      let answers = try answers(query(where: 1), analyze: true) { request in
        request.structuredQuery?.offset = offset
        request.structuredQuery?.limit = limit
      }
      #expect(answers.compactMap(\.response.document).count == results)
      #expect(answers.last?.response.done == true)
      #expect(answers.dropLast().allSatisfy { $0.explainMetrics == nil })
      let stats = answers.last?.explainMetrics?.executionStats
      #expect(stats?.resultsReturned == Int64(results) && stats?.readOperations == reads)
      #expect(stats?.executionDuration == Wire.Duration())
      if limit == nil {
        #expect(answers.last?.explainMetrics?.planSummary == index("n ASC, __name__ ASC"))
      }
    }
  }

  @Test func anAggregationHasItsMetrics() throws {
    let answers = try aggregation(analyze: true)
    #expect(answers.count == 1 && answers[0].response.result != nil)
    let stats = answers[0].explainMetrics?.executionStats
    #expect(stats?.resultsReturned == 1 && stats?.readOperations == 1)
  }

  @Test func aTransactionCanExplain() throws {
    let answers = try answers(query(where: 1), analyze: true) {
      $0.consistencySelector = .newTransaction(Wire.TransactionOptions())
    }
    let id = try #require(answers.first?.response.transaction)
    #expect(answers.last?.explainMetrics?.executionStats?.resultsReturned == 5)
    try service.commit([TestService.set("rooms/x", 9)], in: id)
  }

  @Test func theTextOfAPlanHasTheNamesOfFirestore() throws {
    var service = service
    service.format = .json
    var request = Wire.RunQueryRequest()
    request.parent = TestService.documents
    request.structuredQuery = query(where: nil)
    request.explainOptions = Wire.ExplainOptions()
    let events = ServiceEvents()
    service.begin("RunQuery", events).send(try service.format.encode(request))
    guard case .message(let bytes)? = events.all.first else { throw RemoteError(.internal, "no message") }
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == #"{"explainMetrics":{"planSummary":{"indexesUsed":[{"properties":"(__name__ ASC)","#
        + #""query_scope":"Collection"}]}}}"#)
  }
}
