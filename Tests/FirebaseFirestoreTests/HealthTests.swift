// The health of a database through the API: its state, its writes and its listeners.

import Authority
import ByteStore
import DocumentStore
import Foundation
import Harness
import OfflineSync
import Testing

@testable import FirebaseFirestore

@Suite(.timeLimit(.minutes(1))) struct HealthTests {
  private func file(_ firestore: Firestore, exists: Bool) -> Bool {
    FileManager.default.fileExists(atPath: firestore.storeDirectory) == exists
  }

  // MARK: States

  @Test func anUnusedInstanceIsNotOpenAndStaysSo() async throws {
    let database = try TestDatabase()
    let health = database.firestore.health()
    #expect(health.writing == .notOpen && !health.canWrite && !health.isPoisoned)
    #expect(health.reason == nil && health.since == nil)
    #expect(health.recovery == nil && health.durability == nil && health.snapshots == [])
    #expect(health.walByteCount == 0 && health.pendingWriteCount == 0 && health.commitLatency.count == 0)
    #expect(file(database.firestore, exists: false))
    #expect(database.firestore.health() == health)
    await database.close()
  }

  @Test func anOpenDatabaseReportsItsState() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    for n in 0..<3 { try await firestore.document("a/\(n)").setData(["n": n]) }
    let health = firestore.health()
    #expect(health.writing == .possible && health.canWrite && health.reason == nil && health.since == nil)
    #expect(health.walByteCount > 0 && health.memtableByteCount > 0)
    #expect(health.commitLatency.count == 3 && health.commitLatency.secondsMax > 0)
    #expect(health.commitLatency.buckets.reduce(0) { $0 + $1.count } == 3)
    #expect(health.flushes.failureCount == 0 && health.flushes.failure == nil)
    #expect(health.cache.byteCountMax > 0)
    #expect(health.recovery?.wasClosedCleanly == true && health.recovery?.losses == [])
    let durability = try #require(health.durability)
    #expect(!durability.fileSystem.isEmpty && durability.text.contains(durability.fileSystem))
    #expect(health.pendingWriteCount == 0 && health.listenerCount == 0)
    await database.close()
  }

  @Test func aFailedOpenIsReportedUntilOneSucceeds() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let other = try DocumentStore.open(firestore.storeDirectory)
    let before = Date()
    await #expect(throws: (any Error).self) { try await firestore.document("a/b").getDocument() }
    let health = firestore.health()
    #expect(health.writing == .openFailed && !health.canWrite)
    #expect(health.reason?.contains("\(getpid())") == true, "\(health.reason ?? "none")")
    let since = try #require(health.since)
    #expect(before <= since && since <= Date())
    await #expect(throws: (any Error).self) { try await firestore.document("a/b").setData(["n": 1]) }
    #expect(firestore.health().since == since, "the first failure counts")
    try other.close()
    try await firestore.document("a/b").setData(["n": 1])
    #expect(firestore.health().writing == .possible && firestore.health().since == nil)
    await database.close()
  }

  @Test func aTerminatedInstanceIsReported() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    try await firestore.document("a/b").setData(["n": 1])
    _ = firestore.collection("a").addSnapshotListener { _, _ in }
    try await firestore.terminate()
    let health = firestore.health()
    #expect(health.writing == .terminated && !health.canWrite && health.reason == nil)
    #expect(health.listenerCount == 0 && health.recovery == nil)
    await database.close()
  }

  // MARK: Writes

  /// The write queue is blocked, so a call that waited for a write would never return.
  @Test func writesThatAreNotDurableArePendingAndTheCallDoesNotWait() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let mayContinue = DispatchSemaphore(value: 0)
    await withCheckedContinuation { isBlocked in
      firestore.client().store.runOnWriteQueue { _ in
        isBlocked.resume()
        mayContinue.wait()
      }
    }
    for n in 0..<3 { firestore.document("a/\(n)").setData(["n": n], completion: nil) }
    let health = firestore.health()
    #expect(health.pendingWriteCount == 3 && health.writing == .possible)
    mayContinue.signal()
    try await firestore.waitForPendingWrites()
    #expect(firestore.health().pendingWriteCount == 0)
    await database.close()
  }

  @Test func writesThatTheRemoteHasNotAnsweredArePending() async throws {
    let remote = try LoopbackRemote(authority: try DocumentStore.openInMemory())
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = remote
    settings.acknowledgement = .local
    let firestore = Firestore.memory()
    firestore.settings = settings
    try await firestore.disableNetwork()
    for n in 1...2 { try await firestore.document("a/\(n)").setData(["n": n]) }
    #expect(firestore.health().pendingWriteCount == 2)
    try await firestore.enableNetwork()
    try await firestore.waitForPendingWrites()
    #expect(firestore.health().pendingWriteCount == 0)
    try await firestore.terminate()
  }

  // MARK: Readers

  @Test func listenersAreCountedUntilTheirRemoval() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    var counts = [firestore.health().listenerCount]
    let first = firestore.collection("a").addSnapshotListener { _, _ in }
    counts.append(firestore.health().listenerCount)
    let second = firestore.document("a/b").addSnapshotListener { _, _ in }
    counts.append(firestore.health().listenerCount)
    first.remove()
    first.remove()
    counts.append(firestore.health().listenerCount)
    second.remove()
    counts.append(firestore.health().listenerCount)
    #expect(counts == [0, 1, 2, 1, 0])
    await database.close()
  }

  @Test func aHeldSnapshotIsListedUntilItIsReleased() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    try await firestore.document("a/b").setData(["n": 1])
    let store = try #require(firestore.client().store.openView).store
    let snapshot = try store.snapshot()
    #expect(firestore.health().snapshots.map(\.commit) == [1])
    #expect(try await firestore.statistics().snapshots.map(\.commit) == [1])
    snapshot.close()
    #expect(firestore.health().snapshots == [])
    await database.close()
  }

  // MARK: Statistics

  @Test func statisticsAndHealthAgree() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    for n in 0..<3 { try await firestore.document("a/\(n)").setData(["n": n]) }
    let (statistics, health) = (try await firestore.statistics(), firestore.health())
    #expect(statistics.documentCount == 3 && statistics.lastCommit == 3)
    #expect(statistics.log.byteCount == health.walByteCount)
    #expect(statistics.memtableByteCount == health.memtableByteCount)
    #expect(statistics.segments.deadByteCount == health.compactionDebtByteCount)
    #expect(statistics.recovery == health.recovery && statistics.durability == health.durability)
    #expect(statistics.writing == health.writing && !statistics.isCacheOfRemote)
    await database.close()
  }
}
