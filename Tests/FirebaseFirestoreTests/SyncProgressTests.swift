// The progress of the sync as an app sees it: of the database and of single queries.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

@Suite(.timeLimit(.minutes(2))) struct SyncProgressTests {
  private let authority: DocumentStore
  private let remote: LoopbackRemote
  private let firestore = Firestore.memory()

  init() throws {
    authority = try DocumentStore.openInMemory()
    remote = try LoopbackRemote(authority: authority)
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = remote
    settings.acknowledgement = .local
    firestore.settings = settings
    for number in 0..<20 {
      try authority.commit([.set(DocumentPath(["rooms", "\(number)"]), StoredMap([("n", .integer(1))]))])
    }
  }

  /// Returns the code of the error that the body throws; nil if it throws none.
  private func code(_ body: () async throws -> Void) async -> Int? {
    do {
      try await body()
      return nil
    } catch {
      return (error as NSError).code
    }
  }

  /// Returns the first progress that fulfils a condition.
  private func next<Value>(
    _ events: Events<Value>, where isWanted: (Value) -> Bool
  ) async throws -> Value {
    while true {
      let value = try #require(await events.next)
      if isWanted(value) { return value }
    }
  }

  @Test func theDatabaseReportsItsConnectionItsQueriesAndItsWrites() async throws {
    let events = Events<SyncProgress>()
    firestore.addSyncProgressListener(events.add)
    let first = try #require(await events.next)
    #expect(first.connection == .idle && first.syncedUpTo == nil && first.queries.isEmpty && first.isSynced)
    let before = Date()
    let rooms = firestore.collection("rooms")
    let snapshots = Events<QuerySnapshot>()
    let listener = rooms.addSnapshotListener(snapshots.add)
    let requested = try await next(events) { $0.queries.first?.state == .waiting }
    #expect(requested.connection == .connecting && !requested.isSynced)
    let loading = try await next(events) { $0.queries.first?.state == .loading }
    #expect(loading.connection == .connected && !loading.isSynced && loading.syncedUpTo == nil)
    #expect(loading.queries.map(\.fractionCompleted) == [nil])
    let loaded = try await next(events) { $0.queries.first?.state == .current }
    #expect(loaded.connection == .connected && loaded.isSynced && loaded.error == nil)
    #expect(loaded.queries.map(\.query) == [rooms])
    let query = try #require(loaded.queries.first)
    #expect(query.receivedCount == 20 && query.documentCount == 20 && query.receivedByteCount > 0)
    #expect(query.isListening && !query.isPinned && !query.isResumed && query.fractionCompleted == 1)
    let time = try #require(loaded.syncedUpTo)
    #expect(query.syncedUpTo == time && query.currentSince != nil)
    #expect(abs(time.timeIntervalSince(before)) < 60)

    try await firestore.disableNetwork()
    let offline = try await next(events) { $0.connection == .disabled }
    let kept = try #require(offline.syncedUpTo)
    #expect(kept >= time && !offline.isSynced)
    #expect(offline.queries.map(\.state) == [.waiting] && offline.queries.map(\.currentSince) == [nil])
    try await firestore.document("rooms/own").setData(["n": 2])
    let waiting = try await next(events) { $0.pendingWriteCount == 1 }
    #expect(abs(try #require(waiting.oldestPendingWrite).timeIntervalSince(before)) < 60)
    try await firestore.enableNetwork()
    let synced = try await next(events) { $0.isSynced && $0.connection == .connected }
    #expect(synced.pendingWriteCount == 0 && synced.oldestPendingWrite == nil)
    #expect(synced.queries.map(\.isResumed) == [true])
    #expect(try #require(synced.syncedUpTo) >= kept)
    listener.remove()
    let idle = try await next(events) { $0.queries.isEmpty }
    #expect(idle.syncedUpTo == nil)
    try await firestore.terminate()
  }

  @Test func anUnreachableRemoteIsReportedWithItsError() async throws {
    remote.setReachable(false)
    let events = Events<SyncProgress>()
    firestore.addSyncProgressListener(events.add)
    firestore.collection("rooms").addSnapshotListener { _, _ in }
    let offline = try await next(events) { $0.connection == .offline }
    #expect(offline.error?.code == FirestoreErrorCode.unavailable.rawValue)
    #expect(offline.error?.domain == FirestoreErrorDomain && !offline.isSynced)
    remote.setReachable(true)
    let online = try await next(events) { $0.isSynced }
    #expect(online.error == nil && online.connection == .connected)
    try await firestore.terminate()
  }

  @Test func aQueryReportsItsOwnProgress() async throws {
    var faults = LoopbackFaults()
    faults.latency = 10_000...20_000
    remote.setFaults(faults)
    let query = firestore.collection("rooms").whereField("n", isEqualTo: 1).order(by: "n").limit(to: 10)
    var received: [QueryProgress] = []
    var listener: (any ListenerRegistration)?
    firestore.collection("rooms").limit(to: 1).addSnapshotListener { _, _ in }
    for try await progress in query.syncProgress {
      received.append(progress)
      if progress.state == .current { listener?.remove() }
      guard progress.state == .inactive else { continue }
      if listener != nil { break }
      listener = query.addSnapshotListener { _, _ in }
    }
    #expect(received.allSatisfy { $0.query == query })
    #expect(zip(received, received.dropFirst()).allSatisfy { $0 != $1 })
    #expect(received.first?.state == .inactive && received.first?.fractionCompleted == nil)
    let current = try #require(received.first { $0.state == .current })
    #expect(current.documentCount == 10 && current.receivedCount == 10 && current.isListening)
    // A slow loop misses states.
    let others = received.filter { $0.state == .waiting || $0.state == .loading }
    #expect(others.allSatisfy { $0.fractionCompleted == nil && $0.currentSince == nil })
    var last = query.syncProgress.makeAsyncIterator()
    #expect(try await last.next()?.state == .inactive)
    try await firestore.terminate()
    #expect(try await last.next() == nil)
  }

  @Test func aQueryThatCannotRunEndsItsProgressWithTheError() async throws {
    let query = firestore.collection("rooms").limit(toLast: 2)
    #expect(await code { for try await _ in query.syncProgress {} } == 3)
    #expect(await code { try await query.pin(budget: PinBudget()) } == 3)
    try await firestore.terminate()
  }

  @Test func withoutARemoteEverythingIsCurrent() async throws {
    let firestore = Firestore.memory()
    var progress = firestore.syncProgress.makeAsyncIterator()
    let only = try #require(try await progress.next())
    #expect(only.connection == .noRemote && only.isSynced && only.queries.isEmpty)
    let rooms = firestore.collection("rooms")
    var ofQuery = rooms.syncProgress.makeAsyncIterator()
    #expect(try await ofQuery.next()?.fractionCompleted == 1)
    try await rooms.pin(budget: .documents(1))
    #expect(try await firestore.pinnedQueries().isEmpty)
    try await rooms.unpin()
    try await firestore.terminate()
    #expect(try await progress.next() == nil)
    #expect(try await ofQuery.next() == nil)
  }

  @Test func anUnusableDatabaseReportsTheCause() async throws {
    let database = try TestDatabase()
    database.firestore.settings = firestore.settings
    let holder = try DocumentStore.open(database.firestore.storeDirectory)
    let events = Events<SyncProgress>()
    database.firestore.addSyncProgressListener(events.add)
    #expect((await events.nextError as NSError?)?.code == 14)
    #expect(await code { for try await _ in database.firestore.collection("a").syncProgress {} } == 14)
    #expect(await code { try await database.firestore.collection("a").pin(budget: PinBudget()) } == 14)
    try holder.close()
    await database.close()
  }
}
