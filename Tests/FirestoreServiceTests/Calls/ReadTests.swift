// BatchGetDocuments, GetDocument, RunQuery and RunAggregationQuery.

import Authority
import ByteStore
import DocumentStore
import FirestoreService
import FirestoreWire
import OfflineSync
import Testing

@Suite struct ReadTests {
  @Test(arguments: WireFormat.allCases)
  func aBatchIsReadInOneSnapshotAndInOrder(_ format: WireFormat) throws {
    let service = try TestService(format)
    try service.set(["rooms/a": 1, "rooms/b": 2])
    let answers = try service.get("rooms/b", "rooms/none", "rooms/b", "rooms/a")
    #expect(
      answers.map { $0.result?.found?.name ?? $0.result?.missing }
        == ["rooms/b", "rooms/none", "rooms/a"].map(TestService.name))
    #expect(answers[0].result?.found?.fields == StoredMap([("n", .integer(2))]))
    #expect(Set(answers.map(\.readTime)).count == 1)
    #expect(answers[0].readTime == answers[0].result?.found?.updateTime)
    #expect(try service.get().isEmpty)
  }

  @Test(arguments: WireFormat.allCases)
  func aMaskSelectsFields(_ format: WireFormat) throws {
    let service = try TestService(format)
    try service.commit([
      TestService.set(
        "rooms/a",
        [
          ("n", .integer(1)), ("s", .string("x")),
          ("m", .map(StoredMap([("a", .integer(1)), ("b", .integer(2))]))),
        ])
    ])
    var request = Wire.GetDocumentRequest()
    request.name = TestService.name("rooms/a")
    request.mask = Wire.DocumentMask()
    request.mask?.fieldPaths = ["n", "m.b", "none", "__name__"]
    #expect(
      try service.answer("GetDocument", request, as: Wire.Document.self).fields
        == StoredMap([("m", .map(StoredMap([("b", .integer(2))]))), ("n", .integer(1))]))
    request.mask?.fieldPaths = []
    #expect(try service.answer("GetDocument", request, as: Wire.Document.self).fields.isEmpty)
  }

  @Test func anAbsentDocumentIsNotFound() throws {
    let service = try TestService()
    var request = Wire.GetDocumentRequest()
    request.name = TestService.name("rooms/none")
    #expect(
      try service.error("GetDocument", request)
        == RemoteError(.notFound, "Document (\(TestService.name("rooms/none"))) not found."))
  }

  @Test(arguments: WireFormat.allCases)
  func aQueryEndsWithItsLastDocument(_ format: WireFormat) throws {
    let service = try TestService(format)
    try service.set(["rooms/a": 1, "rooms/b": 3, "rooms/c": 2])
    let request = query("rooms", orderedBy: "n", limit: 2)
    let answers = try service.answers("RunQuery", request, as: Wire.RunQueryResponse.self)
    #expect(answers.map { $0.document?.name } == ["rooms/a", "rooms/c"].map(TestService.name))
    #expect(answers.map(\.done) == [nil, true])
    #expect(Set(answers.map(\.readTime)).count == 1 && answers[0].readTime != nil)
  }

  @Test(arguments: WireFormat.allCases)
  func aQueryWithoutResultsHasOneMessage(_ format: WireFormat) throws {
    let service = try TestService(format)
    try service.set(["rooms/a": 1])
    for request in [query("none"), query("rooms", limit: 0)] {
      let answers = try service.answers("RunQuery", request, as: Wire.RunQueryResponse.self)
      #expect(answers.count == 1)
      #expect(answers[0].document == nil && answers[0].done == true && answers[0].readTime != nil)
    }
  }

  @Test(arguments: WireFormat.allCases)
  func anOffsetTellsWhatItHasSkipped(_ format: WireFormat) throws {
    let service = try TestService(format)
    try service.set(["rooms/a": 1, "rooms/b": 2, "rooms/c": 3])
    for (offset, names, skipped) in [
      (1, ["b", "c"], [1, 0]), (2, ["c"], [2]), (5, [], [3]), (0, ["a", "b", "c"], [0, 0, 0]),
    ] {
      var request = query("rooms")
      request.structuredQuery?.offset = Int32(offset)
      let answers = try service.answers("RunQuery", request, as: Wire.RunQueryResponse.self)
      #expect(answers.compactMap { $0.document?.name } == names.map { TestService.name("rooms/\($0)") })
      #expect(answers.map(\.skippedResults) == skipped.map { Int32($0) })
    }
  }

  @Test func aProjectionSelectsFields() throws {
    let service = try TestService()
    try service.commit([TestService.set("rooms/a", [("n", .integer(1)), ("s", .string("x"))])])
    var request = query("rooms")
    request.structuredQuery?.select = Wire.StructuredQuery.Projection()
    var field = Wire.StructuredQuery.FieldReference()
    field.fieldPath = "s"
    request.structuredQuery?.select?.fields = [field]
    let answers = try service.answers("RunQuery", request, as: Wire.RunQueryResponse.self)
    #expect(answers.first?.document?.fields == StoredMap([("s", .string("x"))]))
  }

  @Test func aCancelledQuerySendsNothingMore() throws {
    let service = try TestService()
    try service.commit((0..<50).map { TestService.set("rooms/\($0)", Int64($0)) })
    let (events, call) = (ServiceEvents(), Holder())
    call.call = service.service.handle("RunQuery", metadata: CallMetadata(), format: .protobuf) { event in
      events.add(event)
      if events.all.count == 3 { call.call?.cancel() }
    }
    call.call?.send(try WireFormat.protobuf.encode(query("rooms")))
    #expect(events.all.count == 3 && !events.all.contains(where: \.isEnd))
  }

  @Test(arguments: WireFormat.allCases)
  func aggregatesHaveAliases(_ format: WireFormat) throws {
    let service = try TestService(format)
    try service.set(["rooms/a": 1, "rooms/b": 3])
    var request = Wire.RunAggregationQueryRequest()
    request.parent = TestService.documents
    request.structuredAggregationQuery = Wire.StructuredAggregationQuery()
    request.structuredAggregationQuery?.structuredQuery = query("rooms").structuredQuery
    var named = Wire.StructuredAggregationQuery.Aggregation()
    named.alias = "all"
    named.operator = .count(Wire.StructuredAggregationQuery.Aggregation.Count())
    request.structuredAggregationQuery?.aggregations = [named]
    let answers = try service.answers(
      "RunAggregationQuery", request, as: Wire.RunAggregationQueryResponse.self)
    #expect(answers.map { $0.result?.aggregateFields } == [StoredMap([("all", .integer(2))])])
    #expect(answers[0].readTime != nil)
  }

  @Test func theRulesCanRefuseReads() throws {
    let service = try TestService()
    try service.set(["rooms/a": 1])
    var rules = service.authority.rules
    rules.mayRead = { _, query in
      query.scope.contains(DocumentPath(unchecked: ["rooms", "a"]))
        ? RemoteError(.permissionDenied, "No.") : nil
    }
    service.authority.setRules(rules)
    #expect(throws: RemoteError(.permissionDenied, "No.")) { try service.get("rooms/a") }
    #expect(try service.get("rooms/b").count == 1)
    #expect(try service.error("RunQuery", query("rooms"))?.code == .permissionDenied)
    var ids = Wire.ListCollectionIdsRequest()
    ids.parent = TestService.documents
    #expect(
      try service.error("ListCollectionIds", ids)
        == RemoteError(.permissionDenied, "Metadata operations require admin authentication."))
  }

  // MARK: Read times

  @Test func theLastMinuteCanBeRead() throws {
    let service = try TestService()
    _ = try service.get("rooms/a")
    var times: [Wire.Timestamp] = []
    for number in 1...5 {
      times.append(try #require(try service.commit([TestService.set("rooms/a", Int64(number))]).commitTime))
    }
    for (time, number) in zip(times, 1...) {
      let answer = try service.get("rooms/a", by: .readTime(time)).first
      #expect(answer?.result?.found?.fields["n"] == .integer(Int64(number)))
      #expect(answer?.readTime == time)
    }
    var options = Wire.TransactionOptions.ReadOnly()
    options.readTime = times[1]
    let transaction = try service.begin(.readOnly(options))
    #expect(
      try service.get("rooms/a", by: .transaction(transaction)).first?.result?.found?.fields["n"]
        == .integer(2))
  }

  @Test func withoutRecentSnapshotsAReadTimeIsServedUntilTheNextCommit() throws {
    let service = try TestService { $0.keepsRecentSnapshots = false }
    let time = try #require(try service.commit([TestService.set("rooms/a", 1)]).commitTime)
    #expect(try service.get("rooms/a", by: .readTime(time)).first?.readTime == time)
    try service.set(["rooms/a": 2])
    #expect(throws: RemoteError.self) { try service.get("rooms/a", by: .readTime(time)) }
  }

  @Test func aReadTimeIsServedWhileATransactionHoldsIt() throws {
    let service = try TestService { $0.keepsRecentSnapshots = false }
    let time = try #require(try service.commit([TestService.set("rooms/a", 1)]).commitTime)
    let transaction = try service.begin(.readOnly(Wire.TransactionOptions.ReadOnly()))
    try service.set(["rooms/a": 2])
    let answer = try service.get("rooms/a", by: .readTime(time)).first
    #expect(answer?.result?.found?.fields["n"] == .integer(1))
    #expect(answer?.readTime == time)
    try service.rollback(transaction)
    #expect(throws: RemoteError.self) { try service.get("rooms/a", by: .readTime(time)) }
  }

  /// Regression: the read of the present took the place of the transaction's snapshot, and ended with its
  /// call.
  @Test(arguments: [false, true])
  func theTimeOfAnOpenTransactionIsServedAfterOtherReadsOfThisTime(endsInReverse: Bool) throws {
    let service = try TestService { $0.keepsRecentSnapshots = false }
    let time = try #require(try service.commit([TestService.set("rooms/a", 1)]).commitTime)
    var open = try (0..<2).map { _ in try service.begin(.readOnly(Wire.TransactionOptions.ReadOnly())) }
    _ = try service.get("rooms/a")
    try service.set(["rooms/a": 2])
    while !open.isEmpty {
      let answer = try service.get("rooms/a", by: .readTime(time)).first
      #expect(answer?.result?.found?.fields["n"] == .integer(1))
      try service.rollback(endsInReverse ? open.removeLast() : open.removeFirst())
    }
    #expect(throws: RemoteError.self) { try service.get("rooms/a", by: .readTime(time)) }
  }

  @Test func aReadTimeBetweenTheLastCommitAndNowIsServed() throws {
    let service = try TestService()
    let commit = try #require(try service.commit([TestService.set("rooms/a", 1)]).commitTime?.stored)
    let next = try #require(StoredTimestamp(microseconds: commit.microseconds + 1))
    // The clock of a store in memory passes with each look at it.
    while service.store.clock.wallMicroseconds() <= next.microseconds {}
    let answer = try service.get("rooms/a", by: .readTime(Wire.Timestamp(next))).first
    #expect(answer?.readTime == Wire.Timestamp(next))
    #expect(answer?.result?.found?.fields["n"] == .integer(1))
  }

  @Test func aReadTimeIsExact() throws {
    let service = try TestService()
    var time = try #require(try service.commit([TestService.set("rooms/a", 1)]).commitTime)
    time.nanos += 789
    let error = RemoteError(
      .invalidArgument, "timestamp cannot have more than microseconds precision")
    #expect(throws: error) { try service.get("rooms/a", by: .readTime(time)) }
    var options = Wire.TransactionOptions.ReadOnly()
    options.readTime = time
    #expect(throws: error) { try service.begin(.readOnly(options)) }
    #expect(
      throws: RemoteError(
        .invalidArgument, "The requested 'read_time' is not a time of the years 1 to 9999.")
    ) { try service.get("rooms/a", by: .readTime(Wire.Timestamp(seconds: 5, nanos: -1000))) }
  }

  @Test func aReadTimeInTheFutureIsRefused() throws {
    let service = try TestService()
    let time = Wire.Timestamp(seconds: 253_402_300_799, nanos: 0)
    #expect(throws: RemoteError(.invalidArgument, "The requested 'read_time' cannot be in the future.")) {
      try service.get("rooms/a", by: .readTime(time))
    }
    #expect(throws: RemoteError.self) {
      try service.get("rooms/a", by: .readTime(Wire.Timestamp(seconds: .max, nanos: -1)))
    }
  }

  private func query(_ collection: String, orderedBy field: String? = nil, limit: Int32? = nil)
    -> Wire.RunQueryRequest
  {
    var selector = Wire.StructuredQuery.CollectionSelector()
    selector.collectionId = collection
    var query = Wire.StructuredQuery()
    query.from = [selector]
    query.limit = limit
    if let field {
      var order = Wire.StructuredQuery.Order()
      order.field = Wire.StructuredQuery.FieldReference()
      order.field?.fieldPath = field
      query.orderBy = [order]
    }
    var request = Wire.RunQueryRequest()
    request.parent = TestService.documents
    request.structuredQuery = query
    return request
  }
}

/// Holds a call for the handler of its events.
private final class Holder: @unchecked Sendable {
  // The conformance is unchecked, because one thread uses the holder.
  var call: ServiceCall?
}
