// Transactions: reads and writes at one point of the commit order.

import DocumentStore
import FirebaseFirestore
import Foundation
import Harness
import Testing

@Suite struct TransactionTests {
  private static func increment(_ document: DocumentReference, _ transaction: Transaction) throws -> Int {
    let next = (try transaction.getDocument(document)["n"] as? Int ?? 0) + 1
    transaction.setData(["n": next], forDocument: document, merge: true)
    return next
  }

  /// Runs a transaction that adds one, and returns the number that it has written.
  private static func addOne(_ document: DocumentReference) async throws -> Int {
    let result = try await document.firestore.runTransaction { transaction, errorPointer in
      do {
        return try increment(document, transaction)
      } catch {
        errorPointer?.pointee = error as NSError
        return nil
      }
    }
    return try #require(result as? Int)
  }

  /// All transactions have the default number of attempts.
  @Test(.timeLimit(.minutes(5))) func twoHundredConcurrentIncrementsAllSucceed() async throws {
    let database = try TestDatabase()
    let document = database.firestore.document("counters/one")
    let numbers = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<200 { group.addTask { try await Self.addOne(document) } }
      return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
    }
    #expect(numbers == Set(1...200))
    #expect(try await document.getDocument()["n"] as? Int == 200)
    await database.close()
  }

  // MARK: Waiting for other transactions

  /// Begins a transaction on `document` that has lost a race and holds the lock of the document. Returns when
  /// its block waits for `mayEnd`.
  private static func hold(
    _ document: DocumentReference, until mayEnd: DispatchSemaphore,
    _ body: @escaping @Sendable (Transaction) -> Void = { _ in }
  ) async -> Task<Int, any Error> {
    let attempts = Counter()
    let isHeld = EventCount()
    let holder = Task {
      let result = try await document.firestore.runTransaction { transaction, _ in
        attempts.add()
        let next = try? increment(document, transaction)
        if attempts.count == 1 {
          let isWritten = DispatchSemaphore(value: 0)
          document.setData(["n": 10]) { _ in isWritten.signal() }
          isWritten.wait()
        } else {
          isHeld.add()
          mayEnd.wait()
          body(transaction)
        }
        return next
      }
      return try #require(result as? Int)
    }
    _ = await isHeld.next()
    return holder
  }

  /// Returns when this number of transactions wait.
  static func waitUntilWaiting(_ count: Int, in firestore: Firestore) async throws {
    let locks = try #require(firestore.client().store.openView).store.locks
    await withCheckedContinuation { done in
      // A thread of Dispatch that waits is one less for the transactions of all tests.
      Thread.detachNewThread {
        locks.waitUntilWaiting(count)
        done.resume()
      }
    }
  }

  /// Returns an attempt of an older transaction that holds the lock of `document`.
  static func olderAttempt(
    on document: DocumentReference
  ) async throws -> (StoreTransactionAttempts, StoreTransaction) {
    try await document.setData(["n": 0])
    let store = try #require(document.firestore.client().store.openView).store
    let path = try DocumentPath(document.path.split(separator: "/").map(String.init))
    let attempts = StoreTransactionAttempts(of: store)
    let first = try attempts.begin()
    _ = try first.document(at: path)
    try first.write(.set(path, StoredMap([("n", .integer(1))])))
    try await document.setData(["n": 2])
    #expect(throws: DocumentStoreError.self) { try first.commit() }
    try attempts.wait(beforeAttempt: 2)
    let second = try attempts.begin()
    _ = try second.document(at: path)
    return (attempts, second)
  }

  /// A block that sets its own error, because an older transaction took its locks, runs again.
  @Test(.timeLimit(.minutes(1))) func aBlockThatMapsTheErrorOfAnEndedAttemptRunsAgain() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let (one, two) = (firestore.document("counters/one"), firestore.document("counters/two"))
    let (older, attempt) = try await Self.olderAttempt(on: one)
    let (attempts, isHeld, mayTouch) = (Counter(), EventCount(), DispatchSemaphore(value: 0))
    let younger = Task {
      let result = try await firestore.runTransaction { transaction, errorPointer in
        attempts.add()
        do {
          _ = try transaction.getDocument(two)
          if attempts.count == 1 {
            let isWritten = DispatchSemaphore(value: 0)
            two.setData(["n": 10]) { _ in isWritten.signal() }
            isWritten.wait()
          } else {
            if attempts.count == 2 {
              isHeld.add()
              mayTouch.wait()
            }
            _ = try transaction.getDocument(one)
          }
        } catch {
          errorPointer?.pointee = NSError(domain: "app", code: 7)
          return nil
        }
        transaction.setData(["n": 11], forDocument: two)
        return attempts.count
      }
      return result as? Int
    }
    #expect(await isHeld.next())
    let path = try DocumentPath(["counters", "two"])
    let thread = WorkerThread {
      do {
        try attempt.write(.set(path, StoredMap([("n", .integer(100))])))
        try attempt.commit()
      } catch {
        Issue.record(error)
      }
      older.end()
    }
    try await Self.waitUntilWaiting(1, in: firestore)
    mayTouch.signal()
    #expect(try await younger.value == 3)
    thread.join()
    #expect(try await two.getDocument()["n"] as? Int == 11)
    await database.close()
  }

  @Test(.timeLimit(.minutes(1))) func terminationEndsTheWaitOfATransaction() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let document = firestore.document("counters/one")
    let mayEnd = DispatchSemaphore(value: 0)
    let holder = await Self.hold(document, until: mayEnd)
    let waiting = Task { try await Self.addOne(document) }
    try await Self.waitUntilWaiting(1, in: firestore)
    async let terminated: Void = firestore.terminate()
    do {
      _ = try await waiting.value
      Issue.record("it had its turn")
    } catch FirestoreErrorCode.aborted {
    }
    mayEnd.signal()
    #expect(try await holder.value == 11, "a transaction that runs is completed")
    try await terminated
    await database.close()
  }

  @Test(.timeLimit(.minutes(1))) func cancellingTheTaskEndsTheWaitOfATransaction() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let document = firestore.document("counters/one")
    let mayEnd = DispatchSemaphore(value: 0)
    let holder = await Self.hold(document, until: mayEnd)
    let waiting = Task { try await Self.addOne(document) }
    try await Self.waitUntilWaiting(1, in: firestore)
    waiting.cancel()
    do {
      _ = try await waiting.value
      Issue.record("it had its turn")
    } catch FirestoreErrorCode.cancelled {
    }
    mayEnd.signal()
    #expect(try await holder.value == 11)
    #expect(try await document.getDocument()["n"] as? Int == 11)
    await database.close()
  }

  @Test(.timeLimit(.minutes(1))) func aTaskThatIsCancelledDuringTheBlockCommitsNothing() async throws {
    let firestore = Firestore.memory()
    let document = firestore.document("a/b")
    let (blocks, mayEnd) = (EventCount(), DispatchSemaphore(value: 0))
    let task = Task {
      _ = try await firestore.runTransaction { transaction, _ in
        blocks.add()
        mayEnd.wait()
        transaction.setData(["n": 1], forDocument: document)
        return nil
      }
    }
    #expect(await blocks.next())
    task.cancel()
    mayEnd.signal()
    do {
      try await task.value
      Issue.record("it was committed")
    } catch FirestoreErrorCode.cancelled {
    }
    #expect(blocks.count == 1)
    #expect(try await !document.getDocument().exists)
    try await firestore.terminate()
  }

  /// The callback queue is free while transactions wait, even if the callback queue began them.
  @Test(.timeLimit(.minutes(1))) func waitingTransactionsDoNotOccupyTheCallbackQueue() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let document = firestore.document("counters/one")
    let mayEnd = DispatchSemaphore(value: 0)
    let holder = await Self.hold(document, until: mayEnd) { _ in
      // The completion of this write runs on the callback queue.
      let isWritten = DispatchSemaphore(value: 0)
      firestore.document("counters/two").setData(["n": 1]) { _ in isWritten.signal() }
      isWritten.wait()
    }
    let ended = EventCount()
    firestore.document("counters/three").setData(["n": 1]) { _ in
      firestore.runTransaction({ transaction, _ in try? Self.increment(document, transaction) }) {
        result, _ in
        #expect(result as? Int == 12)
        ended.add()
      }
    }
    try await Self.waitUntilWaiting(1, in: firestore)
    mayEnd.signal()
    #expect(try await holder.value == 11)
    #expect(await ended.next())
    await database.close()
  }

  @Test func theResultOfTheBlockIsReturned() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let document = firestore.document("a/b")
    // The transaction sees this write, although the test does not wait for it.
    document.setData(["n": 41], completion: nil)
    let result = try await firestore.runTransaction { transaction, _ in
      let snapshot = try? transaction.getDocument(document)
      #expect(snapshot?.metadata.isFromCache == false && snapshot?.metadata.hasPendingWrites == false)
      return try? Self.increment(document, transaction)
    }
    #expect(result as? Int == 42)
    let queue = firestore.settings.dispatchQueue
    let called = await withCheckedContinuation { (done: CheckedContinuation<Int?, Never>) in
      firestore.runTransaction({ transaction, _ in try? Self.increment(document, transaction) }) {
        result, error in
        dispatchPrecondition(condition: .onQueue(queue))
        done.resume(returning: error == nil ? result as? Int : nil)
      }
    }
    #expect(called == 43)
    await database.close()
  }

  @Test func allKindsOfWritesAreCommittedTogether() async throws {
    struct City: Codable {
      var name: String
    }
    let database = try TestDatabase()
    let firestore = database.firestore
    try await firestore.document("a/old").setData(["n": 1])
    try await firestore.document("a/gone").setData(["n": 1])
    _ = try await firestore.runTransaction { transaction, errorPointer in
      do {
        #expect(try !transaction.getDocument(firestore.document("a/none")).exists)
        transaction.setData(["n": 1], forDocument: firestore.document("a/one"))
          .updateData(["n": FieldValue.increment(1)], forDocument: firestore.document("a/old"))
          .deleteDocument(firestore.document("a/gone"))
          .setData(["x": 1, "y": 2], forDocument: firestore.document("a/two"), mergeFields: ["y"])
        try transaction.setData(from: City(name: "Bern"), forDocument: firestore.document("a/three"))
          .setData(from: City(name: "Basel"), forDocument: firestore.document("a/old"), merge: true)
      } catch {
        errorPointer?.pointee = error as NSError
      }
      return nil
    }
    let documents = try await firestore.collection("a").getDocuments().documents
    #expect(documents.map(\.documentID) == ["old", "one", "three", "two"])
    #expect(documents[0]["n"] as? Int == 2 && documents[0]["name"] as? String == "Basel")
    #expect(documents[3].data().keys.sorted() == ["y"])
    await database.close()
  }

  /// Returns the error of a transaction that runs `block`.
  private static func error(
    _ attempts: Int = 5, _ block: @escaping @Sendable (Firestore, Transaction) throws -> Void
  ) async throws -> NSError {
    let database = try TestDatabase()
    let firestore = database.firestore
    let options = TransactionOptions()
    options.maxAttempts = attempts
    let error = await withCheckedContinuation { (done: CheckedContinuation<(any Error)?, Never>) in
      firestore.runTransaction(with: options) { transaction, errorPointer in
        do { try block(firestore, transaction) } catch { errorPointer?.pointee = error as NSError }
        return 1
      } completion: { result, error in
        #expect(result == nil)
        done.resume(returning: error)
      }
    }
    #expect(try await firestore.collection("a").getDocuments().isEmpty)
    await database.close()
    return try #require(error) as NSError
  }

  @Test func anErrorOfAnotherDomainEndsTheTransaction() async throws {
    let attempts = Counter()
    let error = try await Self.error { firestore, transaction in
      attempts.add()
      transaction.setData(["n": 1], forDocument: firestore.document("a/b"))
      throw NSError(domain: "mine", code: 7)
    }
    #expect(error.domain == "mine" && error.code == 7)
    #expect(attempts.count == 1)
  }

  @Test(arguments: [(FirestoreErrorCode.Code.aborted, 3), (.unavailable, 3), (.permissionDenied, 1)])
  func temporaryFirestoreErrorsAreRetried(code: FirestoreErrorCode.Code, expected: Int) async throws {
    let attempts = Counter()
    let error = try await Self.error(3) { _, _ in
      attempts.add()
      throw NSError(domain: FirestoreErrorDomain, code: code.rawValue)
    }
    #expect(error.code == code.rawValue)
    #expect(attempts.count == expected)
  }

  @Test func transactionReadsMustPrecedeWrites() async throws {
    let error = try await Self.error { firestore, transaction in
      transaction.setData(["n": 1], forDocument: firestore.document("a/b"))
      _ = try transaction.getDocument(firestore.document("a/c"))
    }
    #expect(error.code == FirestoreErrorCode.invalidArgument.rawValue)
    #expect(
      error.localizedDescription
        == "Firestore transactions require all reads to be executed before all writes")
  }

  @Test func anAbsentDocumentCannotBeUpdatedInATransaction() async throws {
    let error = try await Self.error { firestore, transaction in
      _ = try transaction.getDocument(firestore.document("a/b"))
      transaction.updateData(["n": 1], forDocument: firestore.document("a/b"))
    }
    #expect(error.code == FirestoreErrorCode.invalidArgument.rawValue)
    #expect(error.localizedDescription == "Can't update a document that doesn't exist.")
    let unread = try await Self.error { firestore, transaction in
      transaction.updateData(["n": 1], forDocument: firestore.document("a/b"))
    }
    #expect(unread.code == FirestoreErrorCode.notFound.rawValue)
  }

  @Test func aConflictingTransactionIsRetried() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let document = firestore.document("a/b")
    let attempts = Counter()
    let result = try await firestore.runTransaction { transaction, _ in
      attempts.add()
      let next = try? Self.increment(document, transaction)
      if attempts.count < 3 {
        let wait = DispatchSemaphore(value: 0)
        document.setData(["n": attempts.count * 10]) { _ in wait.signal() }
        wait.wait()
      }
      return next
    }
    #expect(attempts.count == 3)
    #expect(result as? Int == 21)
    await database.close()
  }

  @Test func aTransactionAfterTerminationFails() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    try await firestore.terminate()
    do {
      _ = try await firestore.runTransaction { _, _ in nil }
      Issue.record("it ran")
    } catch FirestoreErrorCode.failedPrecondition {}
    await database.close()
  }

  @Test func optionsAreEqualByValue() throws {
    let options = TransactionOptions()
    #expect(options.maxAttempts == 5)
    options.maxAttempts = 1
    #expect(options != TransactionOptions())
    #expect(try #require(options.copy() as? TransactionOptions) == options)
  }
}

/// A counter that any thread may increment.
final class Counter: Sendable {
  private let value = NSLock()
  private nonisolated(unsafe) var number = 0

  var count: Int { value.withLock { number } }

  func add() { value.withLock { number += 1 } }

  func remove() { value.withLock { number -= 1 } }
}
