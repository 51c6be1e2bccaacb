// Parts of the protocol that few clients use, from the request to the store and back.

import DocumentStore
import FirestoreWire
import OfflineSync
import Testing

@testable import FirestoreService

@Suite struct WireSemanticsTests {
  /// The JSON of the answers of a call. Throws the error with which it ends.
  private func call(_ service: TestService, _ method: String, _ json: String) throws -> [String] {
    let events = ServiceEvents()
    service.begin(method, events).send(Array(json.utf8))
    return try events.all.compactMap { event in
      switch event {
      case .message(let bytes): return String(decoding: bytes, as: UTF8.self)
      case .ended(let error?): throw error
      case .ended(nil): return nil
      }
    }
  }

  private func service() throws -> TestService {
    let service = try TestService(.json)
    for number in 1...5 { try service.set(["rooms/\(number)": Int64(number)]) }
    return service
  }

  private func names(_ answers: [String]) -> [Int] {
    (1...5).filter { number in answers.contains { $0.contains("/rooms/\(number)\"") } }
  }

  @Test func anOffsetSkipsResultsAndSaysSo() throws {
    let service = try service()
    func run(_ rest: String) throws -> [String] {
      try call(
        service, "RunQuery",
        #"{"parent":"\#(TestService.documents)","structuredQuery":{"from":[{"collectionId":"rooms"}],\#(rest)}}"#
      )
    }
    let some = try run(#""offset":3"#)
    #expect(names(some) == [4, 5])
    #expect(some[0].contains(#""skippedResults":3"#) && !some[1].contains("skippedResults"))
    let none = try run(#""offset":9"#)
    #expect(none.count == 1 && none[0].contains(#""skippedResults":5"#) && none[0].contains(#""done":true"#))
    let limited = try run(#""offset":1,"limit":2"#)
    #expect(names(limited) == [2, 3])
  }

  @Test func aQueryForNamesSendsNoFields() throws {
    let service = try service()
    let query = #"{"from":[{"collectionId":"rooms"}],"select":{"fields":[{"fieldPath":"__name__"}]}}"#
    let answers = try call(
      service, "RunQuery", #"{"parent":"\#(TestService.documents)","structuredQuery":\#(query)}"#)
    #expect(names(answers) == [1, 2, 3, 4, 5])
    #expect(answers.allSatisfy { !$0.contains("fields") && $0.contains("updateTime") })
  }

  @Test(arguments: [(3, 3), (5, 5), (100, 5)]) func aCountStopsAtItsLimit(upTo: Int, count: Int) throws {
    let service = try service()
    let query = #"{"from":[{"collectionId":"rooms"}]}"#
    let answers = try call(
      service, "RunAggregationQuery",
      """
      {"parent":"\(TestService.documents)","structuredAggregationQuery":{"structuredQuery":\(query),\
      "aggregations":[{"alias":"n","count":{"upTo":"\(upTo)"}}]}}
      """)
    #expect(answers.count == 1 && answers[0].contains(#""n":{"integerValue":"\#(count)"}"#))
  }

  @Test func aTransformInTheOldFormIsApplied() throws {
    let service = try service()
    let name = TestService.name("rooms/1")
    let answers = try call(
      service, "Commit",
      """
      {"database":"\(TestService.database)","writes":[{"transform":{"document":"\(name)",\
      "fieldTransforms":[{"fieldPath":"n","increment":{"integerValue":"41"}}]},"currentDocument":{"exists":true}}]}
      """)
    #expect(answers[0].contains(#""transformResults":[{"integerValue":"42"}]"#))
    #expect(try service.store.document(at: DocumentPath(["rooms", "1"]))?.fields["n"] == .integer(42))
  }

  @Test func aVectorIsAMapOnTheWire() throws {
    let service = try service()
    let vector =
      #"{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"},"#
      + #""value":{"arrayValue":{"values":[{"doubleValue":1.5},{"doubleValue":-2.5}]}}}}}"#
    let name = TestService.name("rooms/v")
    _ = try call(
      service, "Commit",
      """
      {"database":"\(TestService.database)","writes":[{"update":{"name":"\(name)","fields":{"v":\(vector)}}}]}
      """)
    let stored = try service.store.document(at: DocumentPath(["rooms", "v"]))?.fields["v"]
    #expect(stored == .vector([1.5, -2.5]))
    #expect(try call(service, "GetDocument", #"{"name":"\#(name)"}"#)[0].contains(vector))
  }

  @Test func anAggregationInATransactionReadsItsSnapshot() throws {
    let service = try service()
    let transaction = try service.begin(.readOnly(Wire.TransactionOptions.ReadOnly()))
    try service.set(["rooms/6": 6])
    func count(_ selector: Wire.RunAggregationQueryRequest.ConsistencySelector?) throws -> StoredValue? {
      var request = Wire.RunAggregationQueryRequest()
      request.parent = TestService.documents
      var query = Wire.StructuredQuery()
      query.from = [Wire.StructuredQuery.CollectionSelector()]
      query.from[0].collectionId = "rooms"
      var count = Wire.StructuredAggregationQuery.Aggregation()
      count.alias = "n"
      count.operator = .count(Wire.StructuredAggregationQuery.Aggregation.Count())
      request.structuredAggregationQuery = Wire.StructuredAggregationQuery()
      request.structuredAggregationQuery?.structuredQuery = query
      request.structuredAggregationQuery?.aggregations = [count]
      request.consistencySelector = selector
      let answer: Wire.RunAggregationQueryResponse = try service.answer("RunAggregationQuery", request)
      return answer.result?.aggregateFields["n"]
    }
    #expect(try count(.transaction(transaction)) == .integer(5))
    #expect(try count(nil) == .integer(6))
  }
}
