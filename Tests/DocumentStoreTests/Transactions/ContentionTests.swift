// Transactions that conflict wait for their turn, oldest first.

import ByteStore
import Dispatch
import Harness
import Testing

@testable import DocumentStore

@Suite(.timeLimit(.minutes(5))) struct ContentionTests {
  private let place = path("counters", "one")
  private let other = path("counters", "two")

  private static func open(
    _ clock: SimulatedClock = SimulatedClock(), pauses: (any StorePauses)? = nil,
    limits: TransactionLockLimits = TransactionLockLimits()
  ) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.pauses = pauses
    options.transactionLocks = limits
    let platform = Platform(
      fileSystem: SimulatedDisk(), clock: clock, random: SimulatedRandomSource(seed: 1))
    return try DocumentStore.open("/store", options: options, platform: platform)
  }

  private static func number(_ document: StoredDocument?) -> Int64 {
    if case .integer(let number) = document?.fields["n"] { number } else { 0 }
  }

  private static func addOne(_ path: DocumentPath, _ transaction: StoreTransaction) throws {
    let next = number(try transaction.document(at: path)) + 1
    try transaction.write(.set(path, StoredMap([("n", .integer(next))])))
  }

  /// Adds one to a document outside transactions.
  private static func addOutside(_ path: DocumentPath, _ store: DocumentStore) throws {
    let next = number(try store.document(at: path)) + 1
    try store.commit([.set(path, StoredMap([("n", .integer(next))]))])
  }

  /// Returns attempts whose first attempt has lost a race for `path`. The next attempt locks the document.
  private static func attemptsThatLost(
    _ path: DocumentPath, _ store: DocumentStore
  ) throws -> StoreTransactionAttempts {
    let attempts = StoreTransactionAttempts(of: store)
    let first = try attempts.begin()
    try addOne(path, first)
    try addOutside(path, store)
    #expect(isAborted(failure { try first.commit() }))
    try attempts.wait(beforeAttempt: 2)
    return attempts
  }

  private static func isAborted(_ error: DocumentStoreError?) -> Bool {
    if case .aborted = error { true } else { false }
  }

  /// A thread that adds one to a document in a transaction. Its first attempt begins before `init` returns,
  /// and touches the document after `go()`.
  private final class Adder: Sendable {
    private let started = DispatchSemaphore(value: 0)
    private let mayTouch = DispatchSemaphore(value: 0)
    private let thread: WorkerThread
    let result: Locked<(attempts: Int, error: (any Error)?)>

    init(_ store: DocumentStore, _ path: DocumentPath, turn: @escaping @Sendable () -> Void = {}) {
      let result = Locked<(attempts: Int, error: (any Error)?)>((0, nil))
      let (started, mayTouch) = (started, mayTouch)
      self.result = result
      thread = WorkerThread {
        do {
          try store.transaction { transaction in
            let attempt = result.withLock { result in
              result.attempts += 1
              return result.attempts
            }
            if attempt == 1 {
              started.signal()
              mayTouch.wait()
            }
            try ContentionTests.addOne(path, transaction)
            turn()
          }
        } catch {
          result.withLock { $0.error = error }
        }
      }
      started.wait()
    }

    func go() { mayTouch.signal() }

    func join() { thread.join() }
  }

  // MARK: Adding

  @Test func twoHundredThreadsAddToOneDocument() throws {
    let store = try Self.open()
    let place = place
    let failures = Locked<[String]>([])
    let threads = (0..<200).map { _ in
      WorkerThread {
        do {
          try store.transaction { try Self.addOne(place, $0) }
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(failures.withLock { $0 } == [])
    #expect(Self.number(try store.document(at: place)) == 200)
    #expect(!store.locks.isContended)
  }

  /// Runs transactions on threads that take turns, and returns what went wrong.
  private func play(
    _ seed: UInt64, threads: Int, _ body: @escaping @Sendable (Int, StoreTransaction) throws -> Void
  ) throws -> (store: DocumentStore, wrong: [String]) {
    let turns = SeededTurns(seed: seed)
    let store = try Self.open(pauses: turns)
    let wrong = Locked<[String]>([])
    turns.run(
      (0..<threads).map { number in
        {
          do {
            try store.transaction { try body(number, $0) }
          } catch {
            wrong.withLock { $0.append("seed \(seed), thread \(number): \(error)") }
          }
        }
      })
    if store.locks.isContended { wrong.withLock { $0.append("seed \(seed): a lock is left") } }
    return (store, wrong.withLock { $0 })
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func everyScheduleOfAddingTransactionsSucceeds(seed: UInt64) throws {
    let place = place
    let (store, wrong) = try play(seed, threads: 12) { _, transaction in try Self.addOne(place, transaction) }
    #expect(wrong == [])
    #expect(Self.number(try store.document(at: place)) == 12)
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func everyScheduleOfSeveralDocumentsSucceeds(seed: UInt64) throws {
    let paths = (0..<3).map { path("counters", "\($0)") }
    let (store, wrong) = try play(seed, threads: 8) { number, transaction in
      // Each thread touches all documents, in an order of its own.
      let order = (0..<3).map { paths[(number + (number % 2 == 0 ? $0 : 3 - $0)) % 3] }
      let numbers = try order.map { Self.number(try transaction.document(at: $0)) }
      for (path, number) in zip(order, numbers) {
        try transaction.write(.set(path, StoredMap([("n", .integer(number + 1))])))
      }
    }
    #expect(wrong == [])
    #expect(try paths.map { Self.number(try store.document(at: $0)) } == [8, 8, 8])
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func everyScheduleOfQueriesThatInsertSucceeds(seed: UInt64) throws {
    let query = StructuredQuery(.collection(place.parent))
    let (store, wrong) = try play(seed, threads: 8) { _, transaction in
      let count = try transaction.documents(query).count
      try transaction.write(.set(path("counters", "\(count)"), StoredMap([("n", .integer(1))])))
    }
    #expect(wrong == [])
    #expect(try store.documents(query).map(\.path.id) == (0..<8).map(String.init))
  }

  // MARK: Order

  @Test func turnsFollowTheOrderOfFirstAttempts() throws {
    let store = try Self.open()
    let holder = try Self.attemptsThatLost(place, store)
    let second = try holder.begin()
    try Self.addOne(place, second)
    let order = Locked<[String]>([])
    let adders = ["b", "c", "d"].map { name in
      Adder(store, place) { order.withLock { $0.append(name) } }
    }
    for (count, adder) in adders.reversed().enumerated() {
      adder.go()
      store.locks.waitUntilWaiting(count + 1)
    }
    try second.commit()
    holder.end()
    for adder in adders { adder.join() }
    #expect(order.withLock { $0 } == ["b", "c", "d"])
    #expect(
      adders.map { $0.result.withLock { $0.attempts } } == [1, 1, 1], "a turn begins with a new snapshot")
    #expect(Self.number(try store.document(at: place)) == 5)
  }

  @Test func aVictimRunsAgainBeforeYoungerTransactions() throws {
    let store = try Self.open()
    let (place, other) = (place, other)
    let older = try Self.attemptsThatLost(place, store)
    let younger = try Self.attemptsThatLost(other, store)
    let olderAttempt = try older.begin()
    try Self.addOne(place, olderAttempt)
    let youngerAttempt = try younger.begin()
    _ = try youngerAttempt.document(at: other)
    // The older transaction waits for the lock of the younger one, which runs.
    let mayCommit = DispatchSemaphore(value: 0)
    let first = WorkerThread {
      do {
        try olderAttempt.write(.set(other, StoredMap([("n", .integer(100))])))
        mayCommit.wait()
        try olderAttempt.commit()
      } catch {
        Issue.record(error)
      }
      older.end()
    }
    store.locks.waitUntilWaiting(1)
    // The younger one begins to wait for the older one.
    #expect(Self.isAborted(failure { _ = try youngerAttempt.document(at: place) }))
    #expect(Self.isAborted(failure { try youngerAttempt.commit() }), "the block may have ignored the error")
    youngerAttempt.end()
    #expect(store.locks.counts.victims == 1)
    let order = Locked<[String]>([])
    let third = Adder(store, place) { order.withLock { $0.append("third") } }
    third.go()
    store.locks.waitUntilWaiting(1)
    let second = WorkerThread {
      do {
        try younger.wait(beforeAttempt: 3)
        let attempt = try younger.begin()
        _ = try attempt.document(at: other)
        try Self.addOne(place, attempt)
        try attempt.commit()
      } catch {
        Issue.record(error)
      }
    }
    store.locks.waitUntilWaiting(2)
    mayCommit.signal()
    first.join()
    second.join()
    #expect(order.withLock { $0 } == [], "the victim has both locks")
    younger.end()
    third.join()
    #expect(order.withLock { $0 } == ["third"])
    #expect(Self.number(try store.document(at: place)) == 4)
    #expect(Self.number(try store.document(at: other)) == 100)
  }

  private struct MappedError: Error {}

  /// The block of the victim throws its own error instead of `aborted`.
  @Test func aVictimWhoseBlockMapsTheErrorRunsAgain() throws {
    let store = try Self.open()
    let (place, other) = (place, other)
    let older = try Self.attemptsThatLost(place, store)
    let olderAttempt = try older.begin()
    try Self.addOne(place, olderAttempt)
    let (holdsLock, mayTouch) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let attempts = Locked(0)
    let younger = WorkerThread {
      do {
        try store.transaction { transaction in
          let attempt = attempts.withLock { attempts in
            attempts += 1
            return attempts
          }
          let number = Self.number(try transaction.document(at: other))
          if attempt == 1 {
            try Self.addOutside(other, store)
          } else {
            if attempt == 2 {
              holdsLock.signal()
              mayTouch.wait()
            }
            do { _ = try transaction.document(at: place) } catch { throw MappedError() }
          }
          try transaction.write(.set(other, StoredMap([("n", .integer(number + 1))])))
        }
      } catch {
        Issue.record(error)
      }
    }
    holdsLock.wait()
    let first = WorkerThread {
      do {
        try olderAttempt.write(.set(other, StoredMap([("n", .integer(100))])))
        try olderAttempt.commit()
      } catch {
        Issue.record(error)
      }
      older.end()
    }
    store.locks.waitUntilWaiting(1)
    mayTouch.signal()
    first.join()
    younger.join()
    #expect(attempts.withLock { $0 } == 3 && store.locks.counts.victims == 1)
    #expect(Self.number(try store.document(at: other)) == 101)
  }

  /// After a wait in the middle of a block, the reads before the wait must hold in the new snapshot.
  @Test(arguments: [false, true]) func aWaitInTheMiddleOfABlockKeepsTheReadsIfTheyHold(changes: Bool) throws {
    let store = try Self.open()
    let (place, other) = (place, other)
    let holder = try Self.attemptsThatLost(place, store)
    let second = try holder.begin()
    try Self.addOne(place, second)
    let attempts = Locked(0)
    let seen = Locked<[Int64]>([])
    let thread = WorkerThread {
      do {
        try store.transaction { transaction in
          attempts.withLock { $0 += 1 }
          let numbers = try [other, place].map { Self.number(try transaction.document(at: $0)) }
          seen.withLock { $0 = numbers }
          try transaction.write(.set(path("counters", "sum"), StoredMap()))
        }
      } catch {
        Issue.record(error)
      }
    }
    store.locks.waitUntilWaiting(1)
    if changes {
      // The document is absent again when the transaction gets its turn. It was absent before, but the
      // transaction must not rely on that.
      try Self.addOutside(other, store)
      try store.commit([.delete(other)])
    }
    try second.commit()
    holder.end()
    thread.join()
    #expect(seen.withLock { $0 } == [0, 2])
    #expect(attempts.withLock { $0 } == (changes ? 2 : 1))
  }

  // MARK: Ends of waits

  @Test func aLockEndsAfterFiveSecondsOfHolding() throws {
    let clock = SimulatedClock()
    let store = try Self.open(clock)
    let holder = try Self.attemptsThatLost(place, store)
    let second = try holder.begin()
    try Self.addOne(place, second)
    let adder = Adder(store, place)
    adder.go()
    store.locks.waitUntilWaiting(1)
    clock.advance(nanoseconds: 5_000_000_000)
    store.locks.wakeWaitingThreads()
    adder.join()
    #expect(adder.result.withLock { $0.error } == nil)
    #expect(store.locks.counts.expired == 1)
    #expect(Self.isAborted(failure { try second.commit() }), "validation does not depend on locks")
    try holder.wait(beforeAttempt: 3)
    let third = try holder.begin()
    try Self.addOne(place, third)
    try third.commit()
    holder.end()
    #expect(Self.number(try store.document(at: place)) == 3)
  }

  @Test func waitingIsBounded() throws {
    let clock = SimulatedClock()
    var limits = TransactionLockLimits()
    limits.holdMax = 100_000_000_000
    let store = try Self.open(clock, limits: limits)
    let holder = try Self.attemptsThatLost(place, store)
    let adder = Adder(store, place)
    adder.go()
    store.locks.waitUntilWaiting(1)
    clock.advance(nanoseconds: 60_000_000_000)
    store.locks.wakeWaitingThreads()
    adder.join()
    let (attempts, error) = adder.result.withLock { $0 }
    #expect(attempts == 1)
    #expect(
      error as? DocumentStoreError
        == .aborted(
          "The transaction cannot be committed: it has waited 60 seconds for other transactions that use "
            + "the document counters/one."))
    holder.end()
    #expect(!store.locks.isContended)
  }

  @Test func cancellingEndsAWait() throws {
    let store = try Self.open()
    let holder = try Self.attemptsThatLost(place, store)
    let waiting = StoreTransactionAttempts(of: store)
    let place = place
    let error = Locked<DocumentStoreError?>(nil)
    let thread = WorkerThread {
      let thrown = failure {
        let attempt = try waiting.begin()
        _ = try attempt.document(at: place)
      }
      error.withLock { $0 = thrown }
    }
    store.locks.waitUntilWaiting(1)
    waiting.cancel()
    thread.join()
    #expect(Self.isAborted(error.withLock { $0 }))
    holder.end()
    waiting.end()
    #expect(!store.locks.isContended)
  }

  @Test func closingTheStoreEndsAllWaits() throws {
    let store = try Self.open()
    let holder = try Self.attemptsThatLost(place, store)
    let adder = Adder(store, place)
    adder.go()
    store.locks.waitUntilWaiting(1)
    try store.close()
    adder.join()
    let error = adder.result.withLock { $0.error } as? DocumentStoreError
    guard case .closed = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    holder.end()
  }

  // MARK: Without contention

  @Test func transactionsWithoutLostRacesUseNoLocks() throws {
    let store = try Self.open()
    for _ in 0..<10 { try store.transaction { try Self.addOne(place, $0) } }
    try Self.addOutside(place, store)
    let first = try store.beginTransaction()
    try Self.addOne(place, first)
    try store.transaction { try Self.addOne(place, $0) }
    #expect(Self.isAborted(failure { try first.commit() }))
    #expect(store.locks.counts == TransactionLocks.Counts())
  }

  @Test func transactionOnOtherDocumentsIsNotDelayed() throws {
    let store = try Self.open()
    let holder = try Self.attemptsThatLost(place, store)
    try store.transaction { try Self.addOne(other, $0) }
    let plain = try store.beginTransaction()
    try Self.addOne(place, plain)
    try plain.commit()
    try Self.addOutside(place, store)
    #expect(store.locks.counts.waits == 0, "plain writes and single attempts take no part")
    holder.end()
  }
}
