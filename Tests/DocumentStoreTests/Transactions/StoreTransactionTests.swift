// Conflicts of transactions, retries, and the end of a transaction.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct StoreTransactionTests {
  private let store: DocumentStore
  private let place = path("rooms", "eros")
  private let other = path("rooms", "psyche")

  init() throws { store = try SimulatedStore().store }

  private func number(_ document: StoredDocument?) -> Int64 {
    if case .integer(let number) = document?.fields["n"] { number } else { 0 }
  }

  private func setting(_ path: DocumentPath, _ number: Int64) -> Mutation {
    .set(path, StoredMap([("n", .integer(number))]))
  }

  private func atLeast(_ number: Int64) throws -> StructuredQuery {
    try StructuredQuery(.collection(place.parent))
      .filtered(by: .field(field("n"), .greaterThanOrEqual, .integer(number)))
  }

  /// Runs `read` in a transaction, commits `change` outside it, and then commits the transaction. Returns the
  /// result of the transaction's commit.
  private func outcome(
    _ read: (StoreTransaction) throws -> Void, then change: [Mutation]
  ) throws -> DocumentStoreError? {
    let transaction = try store.beginTransaction()
    try read(transaction)
    try store.commit(change)
    try transaction.write(setting(path("written", "document"), 1))
    return failure { try transaction.commit() }
  }

  private func isAborted(
    _ read: (StoreTransaction) throws -> Void, then change: [Mutation]
  ) throws -> Bool {
    let error = try outcome(read, then: change)
    if case .aborted = error { return true }
    #expect(error == nil)
    return false
  }

  // MARK: Conflicts

  @Test func aChangeOfADocumentThatWasReadIsAConflict() throws {
    try store.commit([setting(place, 1)])
    let read = { (transaction: StoreTransaction) in _ = try transaction.document(at: place) }
    #expect(try isAborted(read, then: [setting(place, 2)]))
    #expect(try isAborted(read, then: [.delete(place)]))
    #expect(try isAborted(read, then: [setting(place, 3)]), "one that was absent")
    #expect(try !isAborted(read, then: [setting(place, 3)]), "nothing changed")
    #expect(try !isAborted(read, then: [setting(other, 4)]))
    #expect(try isAborted(read, then: [.delete(place), setting(place, 3)]), "another one")
  }

  @Test func changeOfAQueryResultIsAConflict() throws {
    try store.commit([setting(place, 1), setting(other, 10)])
    let read = { (transaction: StoreTransaction) in _ = try transaction.documents(try atLeast(5)) }
    #expect(try isAborted(read, then: [setting(path("rooms", "new"), 5)]))
    #expect(try isAborted(read, then: [setting(place, 6)]), "it moved there")
    #expect(try isAborted(read, then: [setting(place, 1)]), "it moved away")
    #expect(try isAborted(read, then: [setting(other, 11)]))
    #expect(try isAborted(read, then: [.delete(other)]))
    #expect(try !isAborted(read, then: [setting(place, 4)]))
    #expect(try !isAborted(read, then: [setting(path("halls", "a"), 5)]))
  }

  @Test func aChangeOfAnAggregatedResultIsAConflict() throws {
    try store.commit([setting(place, 1), setting(other, 10), setting(path("rooms", "last"), 20)])
    let query = try atLeast(5)
    let read = { (transaction: StoreTransaction) in
      let values = try transaction.aggregate([.count, .sum(field("n"))], over: query)
      #expect(values == [.integer(2), .integer(30)])
    }
    #expect(try isAborted(read, then: [setting(path("rooms", "new"), 5)]))
    try store.commit([.delete(path("rooms", "new"))])
    #expect(try isAborted(read, then: [.delete(other)]))
    try store.commit([setting(other, 10)])
    #expect(try isAborted(read, then: [setting(other, 11)]), "the sum changed")
    try store.commit([setting(other, 10)])
    #expect(try !isAborted(read, then: [setting(place, 2)]), "no document of the result")
    let limited = try query.ordered(by: OrderBy(field("n"))).limited(to: .first(1))
    let count = { (transaction: StoreTransaction) in
      _ = try transaction.aggregate([.count], over: limited)
    }
    #expect(try !isAborted(count, then: [setting(path("rooms", "late"), 30)]), "beyond the limit")
    #expect(try isAborted(count, then: [setting(path("rooms", "early"), 6)]))
  }

  @Test func anAggregateMustComeBeforeTheWrites() throws {
    let transaction = try store.beginTransaction()
    try transaction.write(setting(place, 1))
    #expect(failure { try transaction.aggregate([.count], over: try atLeast(5)) }?.complaint != nil)
  }

  @Test func documentsAfterALimitAreNoConflict() throws {
    try store.commit((0..<6).map { setting(path("rooms", "\($0)"), $0 * 10) })
    let query = try StructuredQuery(.collection(place.parent)).ordered(by: OrderBy(field("n")))
    let first = { (transaction: StoreTransaction) in
      _ = try transaction.documents(try query.limited(to: .first(2)))
    }
    #expect(try !isAborted(first, then: [setting(path("rooms", "5"), 51)]))
    #expect(try !isAborted(first, then: [setting(path("rooms", "a"), 11)]))
    #expect(try isAborted(first, then: [setting(path("rooms", "b"), 9)]))
    let last = { (transaction: StoreTransaction) in
      _ = try transaction.documents(try query.limited(to: .last(2)))
    }
    #expect(try !isAborted(last, then: [setting(path("rooms", "b"), 8)]))
    #expect(try isAborted(last, then: [setting(path("rooms", "c"), 45)]))
  }

  @Test func aPendingCommitIsAConflict() throws {
    try store.commit([setting(place, 1)])
    let inProgress = try store.begin([setting(place, 2)])
    let transaction = try store.beginTransaction()
    #expect(number(try transaction.document(at: place)) == 1, "no reader sees a commit that is not durable")
    try transaction.write(setting(other, 1))
    guard case .aborted = failure(of: { try transaction.commit() }) else {
      Issue.record("a write that is under way was missed")
      return
    }
    try store.finish(inProgress)
    #expect(try store.document(at: other) == nil)
  }

  @Test func aPendingCommitThatUndoesAnotherIsAConflict() throws {
    let transaction = try store.beginTransaction()
    #expect(try transaction.document(at: place) == nil)
    let inProgress = [try store.begin([setting(place, 1)]), try store.begin([.delete(place)])]
    try transaction.write(setting(other, 1))
    guard case .aborted = failure(of: { try transaction.commit() }) else {
      Issue.record("the transaction is valid if the removal is refused, and the document is there")
      return
    }
    for commit in inProgress { try store.finish(commit) }
    #expect(try store.document(at: other) == nil)
  }

  @Test func commitContainedInTheSnapshotIsNoConflict() throws {
    let inProgress = try store.begin([setting(place, 2)])
    let second = try store.begin([setting(other, 2)])
    // Publishes both commits. The first commit is not complete when the transaction begins.
    try store.finish(second)
    let transaction = try store.beginTransaction()
    #expect(number(try transaction.document(at: place)) == 2)
    #expect(try transaction.documents(try atLeast(0)).count == 2)
    try transaction.write(setting(place, 3))
    #expect(try transaction.commit() != nil)
    try store.finish(inProgress)
    #expect(number(try store.document(at: place)) == 3)
  }

  @Test func aWriterWithoutReadsAndAReaderWithoutWritesHaveNoConflicts() throws {
    try store.commit([setting(place, 1)])
    let reader = try store.beginTransaction()
    #expect(number(try reader.document(at: place)) == 1)
    let writer = try store.beginTransaction()
    try writer.write(increment(place))
    try store.commit([setting(place, 5)])
    #expect(try writer.commit() != nil)
    #expect(number(try reader.document(at: place)) == 1, "it reads one point in time")
    #expect(try reader.commit() == nil)
    #expect(number(try store.document(at: place)) == 6)
  }

  // MARK: Attempts

  @Test func theBlockIsRetriedUntilItHasNoConflict() throws {
    try store.commit([setting(place, 1)])
    var attempts = 0
    let result = try store.transaction { transaction in
      attempts += 1
      let found = number(try transaction.document(at: place))
      if attempts < 3 { try store.commit([increment(place)]) }
      try transaction.write(setting(place, 10 * found))
      return found
    }
    #expect(result == 3 && attempts == 3)
    #expect(number(try store.document(at: place)) == 30)
  }

  @Test(arguments: [nil, 1, 3]) func transactionIsAbortedAfterTheLastAttempt(maxAttempts: Int?) throws {
    var attempts = 0
    let body = { (transaction: StoreTransaction) throws in
      attempts += 1
      _ = try transaction.document(at: place)
      try store.commit([increment(place)])
      try transaction.write(.delete(place))
    }
    #expect(throws: DocumentStoreError.self) {
      if let maxAttempts {
        try store.transaction(maxAttempts: maxAttempts, body)
      } else {
        try store.transaction(body)
      }
    }
    #expect(attempts == maxAttempts ?? 5)
    #expect(try store.document(at: place) != nil)
  }

  @Test func attemptsAreAtLeastOne() {
    #expect(throws: DocumentStoreError.invalidArgument("Invalid maxAttempts: 0")) {
      try store.transaction(maxAttempts: 0) { _ in }
    }
  }

  @Test func errorInTheBlockAbortsWithoutRetryOrWrites() throws {
    struct DeliberateAbort: Error {}
    var attempts = 0
    #expect(throws: DeliberateAbort.self) {
      try store.transaction { transaction in
        attempts += 1
        try transaction.write(setting(place, 1))
        throw DeliberateAbort()
      }
    }
    #expect(attempts == 1)
    #expect(try store.document(at: place) == nil)
    #expect(store.statistics.snapshots.count == 0)
  }

  @Test func aCancelledTaskWritesNothing() async throws {
    let store = store, place = place
    let task = Task {
      try store.transaction { transaction in
        withUnsafeCurrentTask { $0?.cancel() }
        try transaction.write(.set(place, StoredMap()))
      }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try store.document(at: place) == nil)
  }

  @Test func concurrentCounterIncrementsLoseNoUpdate() throws {
    let store = store, place = place
    let threads = (0..<8).map { _ in
      WorkerThread {
        for _ in 0..<10 {
          try? store.transaction(maxAttempts: 1000) { transaction in
            let document = try transaction.document(at: place)
            guard case .integer(let count) = document?.fields["n"] ?? .integer(0) else { return }
            try transaction.write(.set(place, StoredMap([("n", .integer(count + 1))])))
          }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(number(try store.document(at: place)) == 80)
  }

  // MARK: Rules

  @Test func readsComeBeforeWrites() throws {
    let expected = DocumentStoreError.invalidArgument(
      "Firestore transactions require all reads to be executed before all writes")
    try store.transaction { transaction in
      try transaction.write(setting(place, 1))
      #expect(failure { _ = try transaction.document(at: place) } == expected)
      #expect(failure { _ = try transaction.documents(try atLeast(0)) } == expected)
    }
  }

  @Test func anAbsentDocumentCannotBeUpdatedUnlessWrittenFirst() throws {
    try store.transaction { transaction in
      _ = try transaction.document(at: place)
      let update = try Mutation.update(place, [(field("n"), .set(.integer(2)))])
      #expect(
        failure { try transaction.write(update) }
          == .invalidArgument("Can't update a document that doesn't exist."))
      try transaction.write(setting(place, 1))
      try transaction.write(update)
    }
    #expect(number(try store.document(at: place)) == 2)
  }

  @Test func finishedTransactionRefusesWritesAndCommits() throws {
    let transaction = try store.beginTransaction()
    try transaction.commit()
    #expect(failure { try transaction.write(setting(place, 1)) }?.complaint != nil)
    #expect(failure { try transaction.commit() }?.complaint != nil)
  }
}
