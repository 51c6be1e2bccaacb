// Transactions across calls.

import Authority
import ByteStore
import DocumentStore
import FirestoreService
import FirestoreWire
import OfflineSync
import Testing

@Suite struct TransactionTests {
  private static let closed = RemoteError(.invalidArgument, "Transaction is invalid or closed.")
  private static let invalid = RemoteError(.invalidArgument, "Invalid transaction.")

  @Test(arguments: WireFormat.allCases)
  func aTransactionReadsOneSnapshotAndCommits(_ format: WireFormat) throws {
    let service = try TestService(format)
    try service.set(["rooms/a": 1])
    let transaction = try service.begin()
    let first = try service.get("rooms/a", "rooms/b", by: .transaction(transaction))
    try service.set(["rooms/c": 1])
    let second = try service.get("rooms/c", by: .transaction(transaction))
    #expect(second.first?.result?.missing == TestService.name("rooms/c"))
    #expect(first.map(\.readTime) == [second[0].readTime, second[0].readTime])
    #expect(throws: RemoteError.self, "rooms/c was read as absent, and exists") {
      try service.commit([TestService.set("rooms/b", 2)], in: transaction)
    }
    let other = try service.begin()
    _ = try service.get("rooms/a", by: .transaction(other))
    let response = try service.commit([TestService.set("rooms/b", 2)], in: other)
    #expect(response.writeResults.map(\.updateTime) == [response.commitTime])
  }

  @Test func aConflictAborts() throws {
    let service = try TestService()
    try service.set(["rooms/a": 1])
    let transaction = try service.begin(.readWrite(Wire.TransactionOptions.ReadWrite()))
    _ = try service.get("rooms/a", by: .transaction(transaction))
    service.endLocks()
    try service.set(["rooms/a": 2])
    let request = TestService.commitRequest([TestService.set("rooms/a", 3)], in: transaction)
    #expect(try service.error("Commit", request)?.code == .aborted)
    #expect(try service.error("Commit", request) == Self.closed, "the failed commit has ended it")
    #expect(try service.store.document(at: DocumentPath(["rooms", "a"]))?.fields["n"] == .integer(2))
  }

  @Test(arguments: WireFormat.allCases)
  func aReadCanBeginATransaction(_ format: WireFormat) throws {
    let service = try TestService(format)
    let answers = try service.get("rooms/a", by: .newTransaction(Wire.TransactionOptions()))
    #expect(answers.count == 2)
    #expect(!answers[0].transaction.isEmpty && answers[0].result == nil)
    #expect(answers[1].transaction.isEmpty && answers[1].result != nil)
    service.endLocks()
    try service.set(["rooms/a": 1])
    let request = TestService.commitRequest([TestService.set("rooms/b", 1)], in: answers[0].transaction)
    #expect(try service.error("Commit", request)?.code == .aborted, "the read is validated")
  }

  @Test func aFailedReadLeavesNoTransaction() throws {
    let service = try TestService { $0.transactionsMax = 1 }
    var rules = service.authority.rules
    rules.mayRead = { _, _ in RemoteError(.permissionDenied, "No.") }
    service.authority.setRules(rules)
    for _ in 0..<3 {
      #expect(throws: RemoteError(.permissionDenied, "No.")) {
        try service.get("rooms/a", by: .newTransaction(Wire.TransactionOptions()))
      }
    }
    rules.mayRead = nil
    service.authority.setRules(rules)
    _ = try service.begin()
  }

  @Test func aCallThatIsCancelledBeforeItTellsItsTransactionLeavesNone() throws {
    let random = CancellingRandom()
    let service = try TestService {
      $0.transactionsMax = 1
      $0.random = random
    }
    var batch = Wire.BatchGetDocumentsRequest()
    batch.database = TestService.database
    batch.consistencySelector = .newTransaction(Wire.TransactionOptions())
    var query = Wire.StructuredQuery()
    query.from = [Wire.StructuredQuery.CollectionSelector()]
    query.from[0].collectionId = "rooms"
    var run = Wire.RunQueryRequest()
    run.parent = TestService.documents
    run.structuredQuery = query
    run.consistencySelector = .newTransaction(Wire.TransactionOptions())
    var aggregation = Wire.RunAggregationQueryRequest()
    aggregation.parent = TestService.documents
    aggregation.structuredAggregationQuery = Wire.StructuredAggregationQuery()
    aggregation.structuredAggregationQuery?.structuredQuery = query
    var count = Wire.StructuredAggregationQuery.Aggregation()
    count.operator = .count(Wire.StructuredAggregationQuery.Aggregation.Count())
    aggregation.structuredAggregationQuery?.aggregations = [count]
    aggregation.consistencySelector = .newTransaction(Wire.TransactionOptions())
    for (method, request) in [
      ("BatchGetDocuments", try service.format.encode(batch)), ("RunQuery", try service.format.encode(run)),
      ("RunAggregationQuery", try service.format.encode(aggregation)),
    ] {
      let events = ServiceEvents()
      let call = service.begin(method, events)
      random.call.withLock { $0 = call }
      call.send(request)
      random.call.withLock { $0 = nil }
      #expect(events.all.isEmpty)
      let transaction = try service.begin()
      try service.rollback(transaction)
    }
  }

  @Test func aCommitThatExceedsALimitEndsTheTransaction() throws {
    let service = try TestService()
    let transaction = try service.begin()
    let long = StoredValue.string(String(repeating: "x", count: 600_000))
    var transform = Wire.DocumentTransform.FieldTransform()
    transform.fieldPath = "list"
    var elements = Wire.ArrayValue()
    elements.values = [long]
    transform.transformType = .appendMissingElements(elements)
    var union = TestService.set("rooms/a", [("s", long)])
    union.updateTransforms = [transform]
    let request = TestService.commitRequest([union], in: transaction)
    #expect(try service.error("Commit", request)?.code == .invalidArgument)
    #expect(try service.error("Commit", request) == Self.closed)
  }

  @Test func endedTransactionsAreClosed() throws {
    let service = try TestService()
    for end in ["commit", "rollback"] {
      let transaction = try service.begin()
      if end == "commit" {
        try service.commit([], in: transaction)
      } else {
        try service.rollback(transaction)
      }
      #expect(try service.error("Commit", TestService.commitRequest([], in: transaction)) == Self.closed)
      #expect(throws: Self.closed) { try service.get("rooms/a", by: .transaction(transaction)) }
      try service.rollback(transaction)
    }
  }

  @Test func bytesThatAreNoIdAreInvalid() throws {
    let service = try TestService()
    for bytes in [[1], [UInt8](repeating: 7, count: 17), [UInt8](repeating: 0x11, count: 200)] {
      #expect(try service.error("Commit", TestService.commitRequest([], in: bytes)) == Self.invalid)
      #expect(throws: Self.invalid) { try service.get("rooms/a", by: .transaction(bytes)) }
      #expect(throws: Self.invalid) { try service.rollback(bytes) }
    }
    #expect(throws: Self.invalid) { try service.get("rooms/a", by: .transaction([])) }
    let unknown = [UInt8](repeating: 0x11, count: 17)
    #expect(try service.error("Commit", TestService.commitRequest([], in: unknown)) == Self.closed)
  }

  @Test func anUpdateOfAnAbsentDocumentIsNamed() throws {
    let service = try TestService()
    try service.set(["rooms/a": 1])
    for paths in [["rooms/a"], ["rooms/a", "rooms/b"], ["rooms/b"], []] {
      let transaction = try service.begin()
      for path in paths { _ = try service.get(path, by: .transaction(transaction)) }
      let writes = ["rooms/a", "rooms/b"].map { path in
        var write = TestService.set(path, 2).requiring(exists: true)
        write.updateMask = Wire.DocumentMask()
        write.updateMask?.fieldPaths = ["n"]
        return write
      }
      #expect(
        try service.error("Commit", TestService.commitRequest(writes, in: transaction))
          == RemoteError(.notFound, "No document to update: \(TestService.name("rooms/b"))"))
    }
  }

  @Test func anInvalidWriteLeavesTheTransactionOpen() throws {
    let service = try TestService()
    let transaction = try service.begin()
    let request = TestService.commitRequest([Wire.Write()], in: transaction)
    #expect(try service.error("Commit", request)?.code == .invalidArgument)
    try service.commit([TestService.set("rooms/a", 1)], in: transaction)
  }

  @Test func aReadOnlyTransactionWritesNothing() throws {
    let service = try TestService()
    let transaction = try service.begin(.readOnly(Wire.TransactionOptions.ReadOnly()))
    let request = TestService.commitRequest([TestService.set("rooms/a", 1)], in: transaction)
    #expect(
      try service.error("Commit", request)
        == RemoteError(.invalidArgument, "Cannot modify entities in a read-only transaction."))
    try service.set(["rooms/a": 1])
    let answer = try service.get("rooms/a", by: .transaction(transaction)).first
    #expect(answer?.result?.missing != nil, "it still reads its snapshot")
    #expect(try service.commit([], in: transaction).writeResults.isEmpty)
  }

  @Test func queriesAndAggregatesAreValidated() throws {
    let service = try TestService()
    var query = Wire.StructuredQuery()
    query.from = [Wire.StructuredQuery.CollectionSelector()]
    query.from[0].collectionId = "rooms"
    for method in ["RunQuery", "RunAggregationQuery"] {
      let transaction = try service.begin()
      if method == "RunQuery" {
        var request = Wire.RunQueryRequest()
        request.parent = TestService.documents
        request.structuredQuery = query
        request.consistencySelector = .transaction(transaction)
        #expect(try service.error(method, request) == nil)
      } else {
        var request = Wire.RunAggregationQueryRequest()
        request.parent = TestService.documents
        request.structuredAggregationQuery = Wire.StructuredAggregationQuery()
        request.structuredAggregationQuery?.structuredQuery = query
        var count = Wire.StructuredAggregationQuery.Aggregation()
        count.operator = .count(Wire.StructuredAggregationQuery.Aggregation.Count())
        request.structuredAggregationQuery?.aggregations = [count]
        request.consistencySelector = .transaction(transaction)
        #expect(try service.error(method, request) == nil)
      }
      try service.set(["rooms/\(method)": 1])
      let commit = TestService.commitRequest([TestService.set("rooms/z", 1)], in: transaction)
      #expect(try service.error("Commit", commit)?.code == .aborted, "\(method)")
    }
  }

  @Test func anIdleTransactionExpires() throws {
    let service = try TestService()
    let used = try service.begin()
    let idle = try service.begin()
    service.clock.advance(seconds: 40)
    _ = try service.get("rooms/a", by: .transaction(used))
    service.clock.advance(seconds: 20)
    _ = try service.get("rooms/a", by: .transaction(used))
    #expect(throws: Self.closed) { try service.get("rooms/a", by: .transaction(idle)) }
  }

  @Test func anOldTransactionExpires() throws {
    let service = try TestService()
    let transaction = try service.begin()
    for _ in 0..<5 {
      service.clock.advance(seconds: 50)
      _ = try service.get("rooms/a", by: .transaction(transaction))
    }
    service.clock.advance(seconds: 20)
    #expect(throws: Self.closed) { try service.get("rooms/a", by: .transaction(transaction)) }
  }

  @Test func theTimerEndsForgottenTransactions() throws {
    let service = try TestService {
      $0.transactionsMax = 2
      $0.keepsRecentSnapshots = false
    }
    #expect(service.clock.timerCount == 0)
    let time = try #require(try service.commit([TestService.set("rooms/a", 1)]).commitTime)
    _ = try service.begin(.readOnly(Wire.TransactionOptions.ReadOnly()))
    _ = try service.begin()
    #expect(service.clock.timerCount == 1)
    try service.set(["rooms/a": 2])
    #expect(try service.get("rooms/a", by: .readTime(time)).count == 1, "the snapshot is held")
    service.clock.advance(seconds: 61)
    #expect(throws: RemoteError.self) { try service.get("rooms/a", by: .readTime(time)) }
    #expect(service.clock.timerCount == 0, "no timer runs without transactions")
  }

  @Test func callersWithoutAConnectionShareOnlyTheLimitOfTheDatabase() throws {
    var service = try TestService {
      $0.transactionsMax = 5
      $0.transactionsPerConnectionMax = 2
    }
    for _ in 0..<3 { _ = try service.begin() }
    service.metadata.user = "ada"
    for _ in 0..<2 { _ = try service.begin() }
    service.metadata.user = nil
    #expect(throws: RemoteError.self) { try service.begin() }
    service.clock.advance(seconds: 61)
    service.metadata.user = "ada"
    for _ in 0..<2 { _ = try service.begin() }
    let limit = RemoteError(.resourceExhausted, "The user has 2 open transactions, which is the limit.")
    #expect(throws: limit) { try service.begin() }
  }

  @Test func openTransactionsAreLimited() throws {
    let refusals = Locked<[ServiceRefusal]>([])
    var service = try TestService {
      $0.transactionsMax = 3
      $0.transactionsPerConnectionMax = 2
      $0.onRefusal = { refusal in refusals.withLock { $0.append(refusal) } }
    }
    service.metadata.connection = 1
    let first = try service.begin()
    _ = try service.begin()
    let limit = RemoteError(
      .resourceExhausted, "The connection has 2 open transactions, which is the limit.")
    #expect(throws: limit) { try service.begin() }
    service.metadata.connection = 2
    _ = try service.begin()
    let all = RemoteError(.resourceExhausted, "The database has 3 open transactions, which is the limit.")
    #expect(throws: all) { try service.begin() }
    #expect(refusals.withLock { $0 } == [.connectionTransactions, .databaseTransactions])
    service.metadata.connection = 1
    try service.rollback(first)
    _ = try service.begin()
  }

  @Test func aTransactionBelongsToItsUser() throws {
    var service = try TestService()
    service.metadata.user = "ada"
    let transaction = try service.begin()
    service.metadata.user = "bob"
    #expect(throws: Self.closed) { try service.get("rooms/a", by: .transaction(transaction)) }
    #expect(try service.error("Commit", TestService.commitRequest([], in: transaction)) == Self.closed)
    try service.rollback(transaction)
    service.metadata.user = "ada"
    try service.commit([TestService.set("rooms/a", 1)], in: transaction)
  }

  @Test func anAttemptMayNameAnEarlierOne() throws {
    let service = try TestService()
    var options = Wire.TransactionOptions.ReadWrite()
    options.retryTransaction = try service.begin()
    _ = try service.begin(.readWrite(options))
    try service.rollback(options.retryTransaction)
    _ = try service.begin(.readWrite(options))
    options.retryTransaction = [1, 2, 3]
    #expect(throws: Self.invalid) { try service.begin(.readWrite(options)) }
  }
}

/// Cancels a call when it begins a transaction.
private final class CancellingRandom: RandomSource {
  let call = Locked<ServiceCall?>(nil)
  private let source = SystemRandom()

  func randomID() -> RandomID {
    call.withLock { $0 }?.cancel()
    return source.randomID()
  }
}
