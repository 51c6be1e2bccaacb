// Long answers are sent in steps of bounded size.

import DocumentStore
import FirestoreService
import FirestoreWire
import OfflineSync
import Testing

@Suite struct AnswerStepTests {
  private static let count = 60

  /// A service with documents of 40 kB.
  private func service(
    _ format: WireFormat = .protobuf, _ change: (inout ServiceOptions) -> Void = { _ in }
  ) throws -> TestService {
    let service = try TestService(format, change)
    let bytes = StoredValue.bytes([UInt8](repeating: 1, count: 40_000))
    for number in 0..<Self.count {
      try service.commit([
        TestService.set("rooms/\(number)", [("n", .integer(Int64(number))), ("bytes", bytes)])
      ])
    }
    return service
  }

  private func query(
    _ selector: Wire.RunQueryRequest.ConsistencySelector? = nil
  ) -> Wire.RunQueryRequest {
    var order = Wire.StructuredQuery.Order()
    order.field = Wire.StructuredQuery.FieldReference()
    order.field?.fieldPath = "n"
    var request = Wire.RunQueryRequest()
    request.parent = TestService.documents
    request.structuredQuery = Wire.StructuredQuery()
    request.structuredQuery?.from = [Wire.StructuredQuery.CollectionSelector()]
    request.structuredQuery?.from[0].collectionId = "rooms"
    request.structuredQuery?.orderBy = [order]
    request.consistencySelector = selector
    return request
  }

  /// Begins a call, and runs its first blocks until the answer has begun.
  private func begin(
    _ method: String, _ request: some WireMessage, of service: TestService
  ) throws -> (ManualQueue, ServiceEvents, ServiceCall) {
    let (queue, events) = (ManualQueue(), ServiceEvents())
    let call = service.begin(method, on: queue.service, events)
    call.send(try service.format.encode(request))
    call.finish()
    while events.all.isEmpty, !queue.isEmpty { queue.runOne() }
    return (queue, events, call)
  }

  @Test(arguments: WireFormat.allCases)
  func aQueryIsAnsweredInBlocksOfTheQueue(_ format: WireFormat) throws {
    let service = try service(format)
    let (queue, events, _) = try begin("RunQuery", query(), of: service)
    #expect((1...8).contains(events.all.count))
    // All documents are those of one snapshot.
    try service.commit((0..<Self.count).map { TestService.delete("rooms/\($0)") })
    while !queue.isEmpty {
      let before = events.all.count
      queue.runOne()
      #expect(events.all.count - before <= 8)
    }
    let answers = try events.answers(in: format, as: Wire.RunQueryResponse.self)
    #expect(
      answers.map { $0.document?.fields["n"] } == (0..<Self.count).map { StoredValue.integer(Int64($0)) })
    #expect(Set(answers.map(\.readTime)).count == 1)
    #expect(answers.last?.done == true && answers.dropLast().allSatisfy { $0.done == nil })
  }

  @Test func aBatchIsReadInBlocksOfTheQueue() throws {
    let service = try service()
    var request = Wire.BatchGetDocumentsRequest()
    request.database = TestService.database
    request.documents = (0..<Self.count).map { TestService.name("rooms/\($0)") }
    let (queue, events, _) = try begin("BatchGetDocuments", request, of: service)
    #expect(events.all.count == 20)
    try service.commit([TestService.delete("rooms/50")])
    queue.run()
    let answers = try events.answers(in: .protobuf, as: Wire.BatchGetDocumentsResponse.self)
    #expect(answers.map { $0.result?.found?.name } == request.documents)
  }

  @Test func withoutAQueueTheWholeAnswerIsSentAtOnce() throws {
    let service = try service()
    let answers = try service.answers("RunQuery", query(), as: Wire.RunQueryResponse.self)
    #expect(answers.count == Self.count)
  }

  @Test func aCancelledAnswerReleasesItsSnapshot() throws {
    let service = try service { $0.keepsRecentSnapshots = false }
    let (queue, events, call) = try begin("RunQuery", query(), of: service)
    guard case .message(let bytes)? = events.all.first else { throw RemoteError(.internal, "no answer") }
    let time = try #require(try WireFormat.protobuf.decode(Wire.RunQueryResponse.self, bytes).readTime)
    try service.set(["rooms/0": 7])
    #expect(try service.get("rooms/1", by: .readTime(time)).count == 1)
    let count = events.all.count
    call.cancel()
    queue.run()
    #expect(events.all.count == count)
    #expect(throws: RemoteError.self) { try service.get("rooms/1", by: .readTime(time)) }
  }

  /// A client that does not read keeps no transaction open.
  @Test func aTransactionCanExpireBetweenSteps() throws {
    let service = try service()
    let transaction = try service.begin()
    let (queue, events, _) = try begin("RunQuery", query(.transaction(transaction)), of: service)
    service.clock.advance(seconds: 61)
    queue.run()
    #expect(
      events.all.last
        == .ended(RemoteError(.invalidArgument, "Transaction is invalid or closed.")))
  }

  @Test func aTransactionOfSeveralStepsCommits() throws {
    let service = try service()
    let (queue, events, _) = try begin(
      "RunQuery", query(.newTransaction(Wire.TransactionOptions())), of: service)
    queue.run()
    let answers = try events.answers(in: .protobuf, as: Wire.RunQueryResponse.self)
    #expect(answers.count == Self.count + 1)
    let id = try #require(answers.first?.transaction)
    try service.commit([TestService.set("rooms/a", 1)], in: id)
    let other = try service.begin()
    _ = try service.answers("RunQuery", query(.transaction(other)), as: Wire.RunQueryResponse.self)
    service.endLocks()
    try service.commit([TestService.set("rooms/59", 1)])
    let late = TestService.commitRequest([TestService.set("rooms/b", 1)], in: other)
    #expect(try service.error("Commit", late)?.code == .aborted)
  }

  /// A list is one message, so that its size is limited.
  @Test(arguments: [false, true]) func aPageOfAListIsBounded(showsMissing: Bool) throws {
    let service = try TestService()
    let bytes = StoredValue.bytes([UInt8](repeating: 1, count: 900_000))
    for number in 0..<8 { try service.commit([TestService.set("rooms/\(number)", [("bytes", bytes)])]) }
    var request = Wire.ListDocumentsRequest()
    request.parent = TestService.documents
    request.collectionId = "rooms"
    request.pageSize = 8
    request.showMissing = showsMissing
    var pages: [[String]] = []
    repeat {
      let page = try service.answer("ListDocuments", request, as: Wire.ListDocumentsResponse.self)
      pages.append(page.documents.map(\.name))
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
    #expect(pages.map(\.count) == [5, 3])
    #expect(pages.flatMap { $0 } == (0..<8).map { TestService.name("rooms/\($0)") })
  }
}
