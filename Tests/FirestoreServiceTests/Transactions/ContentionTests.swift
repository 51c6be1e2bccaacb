// Transactions that want the same documents wait for each other, and commits wait for transactions.

import Authority
import ByteStore
import DocumentStore
import FirestoreWire
import OfflineSync
import Testing

@testable import FirestoreService

@Suite struct ContentionTests {
  private let service: TestService

  init() throws {
    service = try TestService()
    try service.set(["rooms/a": 1, "rooms/b": 1])
  }

  // MARK: Calls that wait

  /// A call whose blocks run when the test says so.
  private final class Started {
    let queue = ManualQueue()
    let events = ServiceEvents()
    var call: ServiceCall?

    /// Waits for the end, and returns its error.
    func end() -> RemoteError? {
      while events.all.last?.isEnd != true { queue.waitAndRun() }
      guard case .ended(let error)? = events.all.last else { return nil }
      return error
    }
  }

  /// Begins a call, and runs all that does not wait.
  private func start(_ method: String, _ requests: any WireMessage...) throws -> Started {
    let started = Started()
    let call = service.begin(method, on: started.queue.service, started.events)
    started.call = call
    for request in requests {
      call.send(try service.format.encode(request))
      started.queue.run()
    }
    call.finish()
    started.queue.run()
    return started
  }

  private func startCommit(_ path: String, _ number: Int64, in transaction: [UInt8] = []) throws -> Started {
    try start("Commit", TestService.commitRequest([TestService.set(path, number)], in: transaction))
  }

  private func startGet(_ path: String, in transaction: [UInt8]) throws -> Started {
    var request = Wire.GetDocumentRequest()
    request.name = TestService.name(path)
    request.consistencySelector = .transaction(transaction)
    return try start("GetDocument", request)
  }

  /// A transaction that has read documents.
  private func transaction(
    reading paths: String..., options change: (inout Wire.TransactionOptions.ReadWrite) -> Void = { _ in }
  ) throws -> [UInt8] {
    var options = Wire.TransactionOptions.ReadWrite()
    change(&options)
    let transaction = try service.begin(.readWrite(options))
    for path in paths { _ = try service.get(path, by: .transaction(transaction)) }
    return transaction
  }

  private func number(_ path: String) throws -> StoredValue? {
    try service.get(path).first?.result?.found?.fields["n"]
  }

  // MARK: Commits without a transaction

  @Test(arguments: ["Commit", "UpdateDocument", "DeleteDocument", "BatchWrite", "Write"])
  func aCommitWaitsForATransactionThatHasReadItsDocument(_ method: String) throws {
    let transaction = try transaction(reading: "rooms/a")
    let write = TestService.set("rooms/a", 10)
    let started: Started
    switch method {
    case "UpdateDocument":
      var request = Wire.UpdateDocumentRequest()
      request.document = write.operation?.update
      started = try start(method, request)
    case "DeleteDocument":
      var request = Wire.DeleteDocumentRequest()
      request.name = TestService.name("rooms/a")
      started = try start(method, request)
    case "BatchWrite":
      var request = Wire.BatchWriteRequest()
      request.database = TestService.database
      request.writes = [write]
      started = try start(method, request)
    case "Write":
      var handshake = Wire.WriteRequest()
      handshake.database = TestService.database
      var request = Wire.WriteRequest()
      request.writes = [write]
      started = try start(method, handshake, request)
    default: started = try start(method, TestService.commitRequest([write]))
    }
    #expect(started.events.all.last?.isEnd != true)
    // It would be aborted if the write had been committed.
    try service.commit([TestService.set("rooms/a", 2)], in: transaction)
    #expect(started.end() == nil)
    #expect(try number("rooms/a") == (method == "DeleteDocument" ? nil : .integer(10)))
  }

  @Test func aCommitOfOtherDocumentsDoesNotWait() throws {
    let transaction = try transaction(reading: "rooms/a")
    try service.set(["rooms/b": 2, "rooms/c": 2])
    try service.commit([TestService.set("rooms/a", 2)], in: transaction)
  }

  @Test func aRollbackEndsTheWait() throws {
    let transaction = try transaction(reading: "rooms/a")
    let waiting = try startCommit("rooms/a", 10)
    #expect(waiting.events.all.isEmpty)
    try service.rollback(transaction)
    #expect(waiting.end() == nil)
  }

  @Test func aForgottenTransactionDelaysOthersForFiveSeconds() throws {
    let transaction = try transaction(reading: "rooms/a")
    service.clock.advance(seconds: 2)
    let waiting = try startCommit("rooms/a", 10)
    service.clock.advance(seconds: 2)
    #expect(waiting.queue.isEmpty && waiting.events.all.isEmpty)
    service.clock.advance(seconds: 1)
    #expect(waiting.end() == nil)
    let late = TestService.commitRequest([TestService.set("rooms/a", 2)], in: transaction)
    #expect(try service.error("Commit", late)?.code == .aborted)
    #expect(try number("rooms/a") == .integer(10))
  }

  @Test func documentsOfAQueryAreLocked() throws {
    var query = Wire.RunQueryRequest()
    query.parent = TestService.documents
    query.structuredQuery = Wire.StructuredQuery()
    query.structuredQuery?.from = [Wire.StructuredQuery.CollectionSelector()]
    query.structuredQuery?.from[0].collectionId = "rooms"
    query.structuredQuery?.limit = 1
    let transaction = try service.begin()
    query.consistencySelector = .transaction(transaction)
    #expect(try service.error("RunQuery", query) == nil)
    let waiting = try startCommit("rooms/a", 10)
    #expect(waiting.events.all.isEmpty)
    try service.set(["rooms/b": 2])
    try service.commit([TestService.set("rooms/c", 2)], in: transaction)
    #expect(waiting.end() == nil)
  }

  @Test func readOnlyAndOptimisticTransactionsLockNothing() throws {
    let reading = try service.begin(.readOnly(Wire.TransactionOptions.ReadOnly()))
    _ = try service.get("rooms/a", by: .transaction(reading))
    let optimistic = try transaction(reading: "rooms/a", options: { $0.concurrencyMode = .optimistic })
    try service.set(["rooms/a": 10])
    let late = TestService.commitRequest([TestService.set("rooms/a", 2)], in: optimistic)
    #expect(try service.error("Commit", late)?.code == .aborted)
  }

  // MARK: Calls that end while they wait

  private func increment(_ path: String) -> Wire.Write {
    var write = TestService.set(path, [])
    write.updateMask = Wire.DocumentMask()
    var transform = Wire.DocumentTransform.FieldTransform()
    transform.fieldPath = "n"
    transform.transformType = .increment(.integer(1))
    write.updateTransforms = [transform]
    return write
  }

  /// Regression: the commit was applied later, so that a client which tried again counted twice.
  @Test(arguments: ["Commit", "BatchWrite", "Write", "UpdateDocument"])
  func aCommitWhoseCallIsCancelledWhileItWaitsNeverBegins(_ method: String) throws {
    let transaction = try transaction(reading: "rooms/a")
    let write = increment("rooms/a")
    let started: Started
    switch method {
    case "BatchWrite":
      var request = Wire.BatchWriteRequest()
      request.database = TestService.database
      request.writes = [write]
      started = try start(method, request)
    case "Write":
      var handshake = Wire.WriteRequest()
      handshake.database = TestService.database
      var request = Wire.WriteRequest()
      request.writes = [write]
      started = try start(method, handshake, request, request)
    case "UpdateDocument":
      var request = Wire.UpdateDocumentRequest()
      request.document = TestService.set("rooms/a", 7).operation?.update
      started = try start(method, request)
    default: started = try start(method, TestService.commitRequest([write]))
    }
    let events = started.events.all.count
    started.call?.cancel()
    try service.rollback(transaction)
    started.queue.run()
    // A later commit comes after all that has begun.
    try service.set(["rooms/b": 2])
    started.queue.run()
    #expect(try number("rooms/a") == .integer(1))
    #expect(started.events.all.count == events)
  }

  @Test func aCancelledCommitOfATransactionEndsIt() throws {
    let older = try transaction(reading: "rooms/a")
    let younger = try transaction(reading: "rooms/a")
    let waiting = try startCommit("rooms/a", 20, in: younger)
    waiting.call?.cancel()
    try service.rollback(older)
    waiting.queue.run()
    try service.set(["rooms/a": 3])
    #expect(try number("rooms/a") == .integer(3))
    #expect(service.service.openTransactionCount == 0)
  }

  @Test func commitsDoNotWaitAfterTheEndOfAllLocks() throws {
    let transaction = try transaction(reading: "rooms/a")
    let waiting = try startCommit("rooms/a", 10)
    #expect(waiting.events.all.isEmpty)
    service.service.endLocks()
    #expect(waiting.end() == nil)
    _ = try service.get("rooms/b", by: .transaction(transaction))
    try service.set(["rooms/b": 2])
    #expect(try number("rooms/a") == .integer(10))
  }

  @Test func allGroupsOfABatchWaitForFiveSecondsTogether() throws {
    _ = try transaction(reading: "rooms/a", "rooms/b")
    var request = Wire.BatchWriteRequest()
    request.database = TestService.database
    request.writes = (0..<49).map { TestService.set("rooms/x\($0)", 1) }
    request.writes += [TestService.set("rooms/a", 2), TestService.set("rooms/b", 2)]
    let batch = try start("BatchWrite", request)
    service.clock.advance(seconds: 3)
    let other = try service.begin()
    _ = try service.get("rooms/b", by: .transaction(other))
    batch.queue.run()
    #expect(batch.events.all.isEmpty)
    service.clock.advance(seconds: 2)
    #expect(batch.end() == nil, "the lock of the second transaction would last for three more seconds")
    #expect(try number("rooms/b") == .integer(2))
  }

  // MARK: Two transactions

  @Test(arguments: [true, false]) func theOlderOfTwoTransactionsWins(commitsFirst: Bool) throws {
    let older = try transaction(reading: "rooms/a")
    let younger = try transaction(reading: "rooms/a")
    let first = try startCommit("rooms/a", 10, in: commitsFirst ? older : younger)
    if !commitsFirst { #expect(first.events.all.isEmpty, "the younger one waits") }
    let second = try startCommit("rooms/a", 20, in: commitsFirst ? younger : older)
    let ends = [first.end(), second.end()]
    #expect((commitsFirst ? ends : ends.reversed()).map { $0?.code } == [nil, .aborted])
    #expect(try number("rooms/a") == .integer(commitsFirst ? 10 : 20))
  }

  @Test func theYoungerTransactionCommitsIfTheOlderOneWritesSomethingElse() throws {
    let older = try transaction(reading: "rooms/a")
    let younger = try transaction(reading: "rooms/a")
    let waiting = try startCommit("rooms/a", 20, in: younger)
    #expect(waiting.events.all.isEmpty)
    try service.commit([TestService.set("rooms/b", 10)], in: older)
    #expect(waiting.end() == nil)
    #expect(try number("rooms/a") == .integer(20))
  }

  @Test func transactionsThatReadAndWriteCrosswiseAreNoDeadlock() throws {
    let older = try transaction(reading: "rooms/a")
    let younger = try transaction(reading: "rooms/b")
    let waiting = try startCommit("rooms/a", 20, in: younger)
    let first = try startCommit("rooms/b", 10, in: older)
    #expect(first.end() == nil)
    #expect(waiting.end()?.code == .aborted, "what it has read was changed")
  }

  // MARK: Further attempts

  @Test func aFurtherAttemptIsAsOldAsTheFirst() throws {
    let first = try transaction(reading: "rooms/b")
    let other = try transaction(reading: "rooms/a")
    try service.rollback(first)
    let again = try transaction(reading: "rooms/a", options: { $0.retryTransaction = first })
    let waiting = try startCommit("rooms/a", 20, in: other)
    #expect(waiting.events.all.isEmpty, "the other one is younger, although it has read earlier")
    try service.commit([TestService.set("rooms/a", 10)], in: again)
    #expect(waiting.end()?.code == .aborted)
  }

  @Test func aFurtherAttemptKeepsOthersFromReadingWhatItWillChange() throws {
    let winner = try transaction(reading: "rooms/a")
    let loser = try transaction(reading: "rooms/a")
    let lost = try startCommit("rooms/a", 20, in: loser)
    try service.commit([TestService.set("rooms/a", 10)], in: winner)
    #expect(lost.end()?.code == .aborted)
    let again = try transaction(reading: "rooms/a", options: { $0.retryTransaction = loser })
    let next = try service.begin()
    let reading = try startGet("rooms/a", in: next)
    #expect(reading.events.all.isEmpty)
    try service.commit([TestService.set("rooms/a", 20)], in: again)
    #expect(reading.end() == nil)
    let document: Wire.Document = try #require(reading.events.all.first).message(in: service.format)
    #expect(document.fields["n"] == .integer(20), "its snapshot is from after the wait")
    try service.commit([TestService.set("rooms/a", 30)], in: next)
  }

  @Test func aRollbackEndsAReadThatWaits() throws {
    let winner = try transaction(reading: "rooms/a")
    let loser = try transaction(reading: "rooms/a")
    let lost = try startCommit("rooms/a", 20, in: loser)
    try service.commit([TestService.set("rooms/a", 10)], in: winner)
    #expect(lost.end()?.code == .aborted)
    let again = try transaction(reading: "rooms/a", options: { $0.retryTransaction = loser })
    let next = try service.begin()
    let reading = try startGet("rooms/a", in: next)
    try service.rollback(next)
    #expect(reading.end() == RemoteError(.invalidArgument, "Transaction is invalid or closed."))
    try service.commit([TestService.set("rooms/a", 20)], in: again)
  }

  @Test func anAttemptOfAnotherUserGivesNoAge() throws {
    var ada = service
    ada.metadata.user = "ada"
    let first = try ada.begin()
    try ada.rollback(first)
    let other = try transaction(reading: "rooms/a")
    let again = try transaction(reading: "rooms/a", options: { $0.retryTransaction = first })
    let waiting = try startCommit("rooms/a", 20, in: again)
    #expect(waiting.events.all.isEmpty, "it is the younger one")
    try service.commit([TestService.set("rooms/a", 10)], in: other)
    #expect(waiting.end()?.code == .aborted)
  }

  @Test func endedAttemptsAreForgottenInTheirOrder() {
    let attempts = EndedAttempts()
    let ids = (0...EndedAttempts.countMax).map { _ in TransactionID(SystemRandom()) }
    for id in ids { attempts.add(id, of: nil, age: 1) }
    #expect(attempts.attempt(ids[0], of: nil) == nil)
    #expect(attempts.attempt(ids[1], of: nil) != nil && attempts.attempt(ids[1000], of: nil) != nil)
  }

  @Test func waitsAreLimited() {
    var limits = DocumentLockTable.Limits()
    limits.waitingMax = 1
    let refusals = Locked<[ServiceRefusal]>([])
    let locks = DocumentLocks(service.clock.service, limits: limits) { refusal in
      refusals.withLock { $0.append(refusal) }
    }
    let path = DocumentPath(unchecked: ["rooms", "a"])
    let errors = Locked<[RemoteError?]>([])
    locks.lock([path: .shared], for: locks.owner()) { error in errors.withLock { $0.append(error) } }
    for _ in 0..<2 { locks.wait(for: [path]) { error in errors.withLock { $0.append(error) } } }
    #expect(errors.withLock { $0.map { $0?.code } } == [nil, .resourceExhausted])
    #expect(refusals.withLock { $0 } == [.lockWaits])
    service.endLocks()
    #expect(errors.withLock { $0.map { $0?.code } } == [nil, .resourceExhausted, nil])
  }

  // MARK: Many clients

  /// Fifty clients read a counter before the first of them commits. Each is aborted once at most, because
  /// further attempts wait for their turn.
  @Test func manyClientsIncrementOneCounter() async throws {
    let count = 50
    let barrier = Barrier(count)
    let plain = Locked(0)
    let aborted = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<count {
        group.addTask {
          let aborted = try await increment(barrier)
          // Commits without a transaction come between, and are never lost.
          if number % 10 == 0 {
            var write = TestService.set("rooms/a", [])
            write.updateMask = Wire.DocumentMask()
            var transform = Wire.DocumentTransform.FieldTransform()
            transform.fieldPath = "n"
            transform.transformType = .increment(.integer(1))
            write.updateTransforms = [transform]
            let _: [Wire.CommitResponse] = try await answers("Commit", TestService.commitRequest([write]))
            plain.withLock { $0 += 1 }
          }
          return aborted
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(aborted.count == count && aborted.allSatisfy { $0 <= 1 }, "\(aborted)")
    #expect(try number("rooms/a") == .integer(Int64(1 + count + plain.withLock { $0 })))
  }

  /// Increments the counter as Google's clients do. Returns the number of attempts that were aborted.
  private func increment(_ barrier: Barrier) async throws -> Int {
    var failed: [UInt8]?
    for attempt in 0..<5 {
      var begin = Wire.BeginTransactionRequest()
      begin.database = TestService.database
      if let failed {
        var options = Wire.TransactionOptions.ReadWrite()
        options.retryTransaction = failed
        begin.options = Wire.TransactionOptions()
        begin.options?.mode = .readWrite(options)
      }
      let begun: [Wire.BeginTransactionResponse] = try await answers("BeginTransaction", begin)
      let transaction = begun[0].transaction
      var get = Wire.BatchGetDocumentsRequest()
      get.database = TestService.database
      get.documents = [TestService.name("rooms/a")]
      get.consistencySelector = .transaction(transaction)
      let read: [Wire.BatchGetDocumentsResponse] = try await answers("BatchGetDocuments", get)
      guard case .integer(let number)? = read[0].result?.found?.fields["n"] else {
        throw RemoteError(.internal, "no number")
      }
      if attempt == 0 { await barrier.arrive() }
      do {
        let _: [Wire.CommitResponse] = try await answers(
          "Commit", TestService.commitRequest([TestService.set("rooms/a", number + 1)], in: transaction))
        return attempt
      } catch let error as RemoteError where error.code == .aborted {
        failed = transaction
      }
    }
    throw RemoteError(.aborted, "Five attempts were aborted.")
  }

  private func answers<Response: WireMessage>(
    _ method: String, _ request: some WireMessage
  ) async throws -> [Response] {
    let events = ServiceEvents()
    let bytes = try service.format.encode(request)
    await withCheckedContinuation { continuation in
      let call = Locked<ServiceCall?>(nil)
      let started = service.service.handle(
        method, metadata: CallMetadata(), format: service.format, on: .own()
      ) { event in
        events.add(event)
        if event.isEnd {
          call.withLock { $0 = nil }
          continuation.resume()
        }
      }
      call.withLock { $0 = started }
      started.send(bytes)
    }
    return try events.answers(in: service.format)
  }
}

/// Lets tasks go on when all have arrived.
private final class Barrier: Sendable {
  private struct State {
    var missing: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Locked<State>

  init(_ count: Int) { state = Locked(State(missing: count)) }

  func arrive() async {
    await withCheckedContinuation { continuation in
      let arrived = state.withLock { state in
        state.missing -= 1
        state.waiting.append(continuation)
        guard state.missing <= 0 else { return [] as [CheckedContinuation<Void, Never>] }
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in arrived { continuation.resume() }
    }
  }
}
