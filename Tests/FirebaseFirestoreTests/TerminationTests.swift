// Calls of a terminated instance: none traps, and each that can report an error reports `failedPrecondition`.
//
// The bug: a reference, a read or a batch that was made a moment after `terminate` ended the process.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import Harness
import OfflineSync
import Testing

@Suite(.timeLimit(.minutes(5))) struct TerminationTests {
  private static let message = "The client has already been terminated."
  private static let kinds = ["unused", "used", "with a remote"]

  /// Returns a database of its kind that is in use, unless the kind says otherwise.
  private static func database(_ kind: String) async throws -> TestDatabase {
    let database = try TestDatabase()
    if kind == "with a remote" {
      let settings = database.firestore.settings
      settings.remote = try LoopbackRemote(authority: try DocumentStore.openInMemory())
      database.firestore.settings = settings
    }
    if kind != "unused" { try await database.firestore.document("a/b").setData(["n": 1]) }
    return database
  }

  /// Returns the description of an unexpected result of `call`; nil if it failed as it must.
  private static func fault(_ call: Call, _ firestore: Firestore) async -> String? {
    do {
      try await call.body(firestore)
      return "\(call.name): succeeded"
    } catch {
      let error = error as NSError
      guard error.domain == FirestoreErrorDomain,
        error.code == FirestoreErrorCode.failedPrecondition.rawValue,
        error.localizedDescription == message
      else { return "\(call.name): \(error)" }
      return nil
    }
  }

  @Test(arguments: kinds) func everyCallFailsAfterTermination(kind: String) async throws {
    let database = try await Self.database(kind)
    let firestore = database.firestore
    try await firestore.terminate()
    var wrong: [String] = []
    for call in Call.all { if let fault = await Self.fault(call, firestore) { wrong.append(fault) } }
    #expect(wrong == [])
    // Both calls are still allowed.
    try await firestore.terminate()
    try await firestore.clearPersistence()
    await database.close()
  }

  /// The block of a transaction keeps the store open, so the termination has begun and has not ended.
  @Test(arguments: ["used", "with a remote"]) func everyCallFailsDuringTermination(kind: String) async throws
  {
    let database = try await Self.database(kind)
    let firestore = database.firestore
    let (running, completed, ended) = (EventCount(), EventCount(), EventCount())
    let resume = DispatchSemaphore(value: 0)
    firestore.runTransaction({ _, _ in
      running.add()
      _ = resume.wait(timeout: .now() + 120)
      return nil
    }) { _, _ in completed.add() }
    try #require(await running.next())
    firestore.terminate { _ in ended.add() }
    var wrong: [String] = []
    for call in Call.all { if let fault = await Self.fault(call, firestore) { wrong.append(fault) } }
    #expect(wrong == [])
    #expect(ended.count == 0)
    resume.signal()
    #expect(await completed.next())
    #expect(await ended.next())
    await database.close()
  }

  @Test(arguments: kinds) func referencesAndQueriesCanStillBeMade(kind: String) async throws {
    let database = try await Self.database(kind)
    let firestore = database.firestore
    let known = firestore.document("a/b")
    try await firestore.terminate()
    #expect(firestore.document("a/b") == known && known.collection("c").document("d").path == "a/b/c/d")
    #expect(firestore.collection("a").path == "a")
    let query = firestore.collectionGroup("a").whereField("n", isEqualTo: 1).order(by: "m").limit(to: 2)
    #expect(query == firestore.collectionGroup("a").whereField("n", isEqualTo: 1).order(by: "m").limit(to: 2))
    firestore.batch().setData(["n": 1], forDocument: known).commit(completion: nil)
    known.setData(["n": 2], completion: nil)
    firestore.useEmulator(withHost: "localhost", port: 8080)
    #expect(firestore.settings.host != "localhost:8080")
    let indexes = try #require(firestore.persistentCacheIndexManager)
    indexes.enableIndexAutoCreation()
    indexes.disableIndexAutoCreation()
    indexes.deleteAllIndexes()
    #expect(await firestore.getQuery(named: "top") == nil)
    await database.close()
  }

  @Test(arguments: kinds) func everyListenerReceivesTheErrorOnce(kind: String) async throws {
    let database = try await Self.database(kind)
    let firestore = database.firestore
    let queue = firestore.settings.dispatchQueue
    try await firestore.terminate()
    let log = Log()
    func record<Value>(_ name: String) -> (Value?, (any Error)?) -> Void {
      { value, error in
        let error = error as NSError?
        log.add("\(name) \(value == nil) \(error?.code ?? 0) \(error?.localizedDescription ?? "")")
      }
    }
    let document = firestore.document("a/b")
    let registrations = [
      document.addSnapshotListener(record("document")),
      document.addSnapshotListener(includeMetadataChanges: true, listener: record("document with metadata")),
      firestore.collection("a").addSnapshotListener(record("query")),
      firestore.collection("a").addSnapshotListener(
        options: SnapshotListenOptions().withSource(.cache), listener: record("cache")),
      firestore.addWriteQueueListener(record("progress")),
      firestore.addRejectedWritesListener(record("rejections")),
      firestore.addSyncProgressListener(record("sync progress")),
      firestore.addSnapshotsInSyncListener { log.add("sync") },
    ]
    await Self.waitForCallbacks(of: firestore, on: queue)
    let expected = [
      "document", "document with metadata", "query", "cache", "progress", "rejections", "sync progress",
    ]
    #expect(log.lines.sorted() == expected.map { "\($0) true 9 \(Self.message)" }.sorted())
    log.clear()
    for registration in registrations { registration.remove() }
    await Self.waitForCallbacks(of: firestore, on: queue)
    #expect(log.lines == [])
    await database.close()
  }

  /// Waits until all callbacks of earlier calls have run.
  private static func waitForCallbacks(of firestore: Firestore, on queue: DispatchQueue) async {
    try? await firestore.waitForPendingWrites()
    await withCheckedContinuation { done in firestore.waitForPendingWrites { _ in done.resume() } }
    await withCheckedContinuation { done in queue.async { done.resume() } }
  }

  @Test(arguments: kinds) func aBundleReportsTheErrorToItsObservers(kind: String) async throws {
    let database = try await Self.database(kind)
    let firestore = database.firestore
    let queue = firestore.settings.dispatchQueue
    try await firestore.terminate()
    let events = Events<LoadBundleTaskProgress>()
    // The queue is held until the observer is registered.
    let registered = DispatchSemaphore(value: 0)
    queue.async { _ = registered.wait(timeout: .now() + 60) }
    let task = firestore.loadBundle(Data("not a bundle".utf8)) { events.add($0, $1) }
    task.addObserver { events.add($0, nil) }
    registered.signal()
    #expect(await events.next?.state == .error)
    #expect((await events.nextError as? FirestoreErrorCode)?.code == .failedPrecondition)
    await database.close()
  }

  /// Four threads use an instance that is terminated at the same time. Every completion must be called once,
  /// with a result or with an error of the termination.
  @Test(arguments: ["used", "with a remote"]) func callsMayRaceWithTermination(kind: String) async throws {
    let wrong = Log()
    for _ in 0..<5 {
      let database = try await Self.database(kind)
      let firestore = database.firestore
      let race = Race(firestore, wrong)
      for thread in 0..<4 { race.start(thread) }
      try #require(await race.started.next())
      try await firestore.terminate()
      await race.wait()
      await database.close()
    }
    #expect(wrong.lines == [])
  }
}

/// Calls on several threads, and the completions that are missing.
private final class Race: Sendable {
  private static let rounds = 60
  private let firestore: Firestore
  private let wrong: Log
  private let open = DispatchGroup()
  /// Counts the threads whose first round has ended.
  let started = EventCount()

  init(_ firestore: Firestore, _ wrong: Log) {
    self.firestore = firestore
    self.wrong = wrong
  }

  func start(_ thread: Int) {
    open.enter()
    Thread.detachNewThread { [self] in
      for round in 0..<Self.rounds {
        run(thread, round)
        if round == 0 { started.add() }
      }
      open.leave()
    }
  }

  func wait() async {
    await withCheckedContinuation { done in open.notify(queue: .global()) { done.resume() } }
  }

  /// Accepts the errors of a termination. A read may also find that the remote is already gone.
  private func check(_ error: (any Error)?) {
    guard let error = error as NSError? else { return }
    let allowed: [FirestoreErrorCode.Code] = [.failedPrecondition, .cancelled, .unavailable]
    if error.domain != FirestoreErrorDomain || !allowed.map(\.rawValue).contains(error.code) {
      wrong.add("\(error)")
    }
  }

  /// Makes a call whose completion must be called once.
  private func expect(_ call: (@escaping @Sendable ((any Error)?) -> Void) -> Void) {
    open.enter()
    call { [self] error in
      check(error)
      open.leave()
    }
  }

  private func run(_ thread: Int, _ round: Int) {
    let document = firestore.document("a/\(thread)")
    expect { done in document.setData(["n": round]) { done($0) } }
    expect { done in document.getDocument { done($1) } }
    expect { done in firestore.collection("a").getDocuments { done($1) } }
    expect { done in
      firestore.collection("a").count.getAggregation(source: .cache) { done($1) }
    }
    expect { done in firestore.batch().deleteDocument(document).commit { done($0) } }
    expect { done in firestore.waitForPendingWrites { done($0) } }
    expect { done in firestore.enableNetwork { done($0) } }
    let registration = document.addSnapshotListener { _, error in self.check(error) }
    do { _ = try document.read() } catch { check(error) }
    firestore.persistentCacheIndexManager?.enableIndexAutoCreation()
    registration.remove()
  }
}

/// A public call that can report an error.
private struct Call: Sendable {
  var name: String
  var body: @Sendable (Firestore) async throws -> Void

  init(_ name: String, _ body: @escaping @Sendable (Firestore) async throws -> Void) {
    self.name = name
    self.body = body
  }

  /// Throws the error that a completion receives.
  private static func completed(
    _ call: (@escaping @Sendable ((any Error)?) -> Void) -> Void
  ) async throws {
    let error = await withCheckedContinuation { (done: CheckedContinuation<(any Error)?, Never>) in
      call { done.resume(returning: $0) }
    }
    if let error { throw error }
  }

  static let all = reads + writes + others + sequences

  private static let reads = [
    Call("getDocument") { try await $0.document("a/b").getDocument() },
    Call("getDocument(completion:)") { firestore in
      try await completed { done in firestore.document("a/b").getDocument { done($1) } }
    },
    Call("getDocument(as:)") { _ = try await $0.document("a/b").getDocument(as: [String: Int].self) },
    Call("document read") { _ = try $0.document("a/b").read() },
    Call("getDocuments") { try await $0.collection("a").getDocuments() },
    Call("getDocuments(completion:)") { firestore in
      try await completed { done in firestore.collectionGroup("a").getDocuments { done($1) } }
    },
    Call("query read") { _ = try $0.collection("a").read() },
    Call("explain") { _ = try await $0.collection("a").explain() },
    Call("getAggregation") { try await $0.collection("a").count.getAggregation(source: .server) },
    Call("getAggregation(completion:)") { firestore in
      try await completed { done in
        firestore.collection("a").count.getAggregation(source: .cache) { done($1) }
      }
    },
  ]

  private static let writes = [
    Call("setData") { try await $0.document("a/b").setData(["n": 1]) },
    Call("setData(completion:)") { firestore in
      try await completed { done in firestore.document("a/b").setData(["n": 1]) { done($0) } }
    },
    Call("setData(from:)") { try await $0.document("a/b").setData(from: ["n": 1]) },
    Call("updateData") { try await $0.document("a/b").updateData(["n": 1]) },
    Call("delete") { try await $0.document("a/b").delete() },
    Call("addDocument") { try await $0.collection("a").addDocument(data: ["n": 1]) },
    Call("commit") { try await $0.batch().deleteDocument($0.document("a/b")).commit() },
    Call("commit(completion:)") { firestore in
      try await completed { done in firestore.batch().commit { done($0) } }
    },
    Call("runTransaction") { _ = try await $0.runTransaction { _, _ in nil } },
    Call("runTransaction(completion:)") { firestore in
      try await completed { done in firestore.runTransaction({ _, _ in nil }) { done($1) } }
    },
  ]

  private static let others = [
    Call("statistics") { _ = try await $0.statistics() },
    Call("check") { _ = try await $0.check() },
    Call("backup") { try await $0.backup(to: FileManager.default.temporaryDirectory) },
    Call("evict") { try await $0.evict(collection: "a", olderThan: Date()) },
    Call("createIndex") { try await $0.createIndex(FirestoreIndex("a", [.ascending("n")])) },
    Call("dropIndex") { try await $0.dropIndex(FirestoreIndex("a", [.ascending("n")])) },
    Call("indexes") { _ = try await $0.indexes() },
    Call("setIndexConfiguration") { firestore in
      try await completed { done in
        (firestore as any OldConfiguration).setIndexConfiguration("{}") { done($0) }
      }
    },
    Call("loadBundle") { try await $0.loadBundle(Data("bundle".utf8)) },
    Call("loadBundle(stream)") { try await $0.loadBundle(InputStream(data: Data("bundle".utf8))) },
    Call("loadBundle(completion:)") { firestore in
      try await completed { done in firestore.loadBundle(Data("bundle".utf8)) { done($1) } }
    },
    Call("waitForPendingWrites") { try await $0.waitForPendingWrites() },
    Call("waitForPendingWrites(completion:)") { firestore in
      try await completed { done in firestore.waitForPendingWrites { done($0) } }
    },
    Call("enableNetwork") { try await $0.enableNetwork() },
    Call("disableNetwork(completion:)") { firestore in
      try await completed { done in firestore.disableNetwork { done($0) } }
    },
    Call("changeUser") { try await $0.changeUser("someone") },
    Call("pendingWrites") { _ = try await $0.pendingWrites() },
    Call("cancelPendingWrite") { try await $0.cancelPendingWrite(1) },
    Call("pin") { try await $0.collection("a").pin(budget: PinBudget()) },
    Call("unpin") { try await $0.collection("a").unpin() },
    Call("pinnedQueries") { _ = try await $0.pinnedQueries() },
    Call("registerConsumer") { _ = try await $0.registerConsumer("a") },
    Call("changeConsumers") { _ = try await $0.changeConsumers() },
    Call("databaseSnapshot") { _ = try await $0.databaseSnapshot() },
    Call("setTimeToLive") { try await $0.setTimeToLive(field: "until", collection: "a") },
    Call("removeTimeToLive") { try await $0.removeTimeToLive(collection: "a") },
    Call("timesToLive") { _ = try await $0.timesToLive() },
  ]

  private static let sequences = [
    Call("document snapshots") { for try await _ in $0.document("a/b").snapshots {} },
    Call("query snapshots") { for try await _ in $0.collection("a").snapshots {} },
    Call("writeQueueProgress") { for try await _ in $0.writeQueueProgress {} },
    Call("syncProgress") { for try await _ in $0.syncProgress {} },
    Call("query syncProgress") { for try await _ in $0.collection("a").syncProgress {} },
    Call("rejectedWrites") { for try await _ in $0.rejectedWrites {} },
    Call("changes") { for try await _ in $0.changes() {} },
  ]
}
