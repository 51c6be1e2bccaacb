// Creation and termination of instances.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import Harness
import OfflineSync
import Testing

@Suite struct LifecycleTests {
  @Test func anInstanceIsReusedUntilItIsTerminated() async throws {
    let database = try TestDatabase()
    let first = database.firestore
    #expect(Firestore.firestore(app: database.app) === first)
    #expect(Firestore.firestore(app: database.app, database: "(default)") === first)
    let other = Firestore.firestore(app: database.app, database: "other")
    #expect(other !== first && Firestore.firestore(app: database.app, database: "other") === other)
    #expect(first.app === database.app)
    try await first.terminate()
    try await first.terminate()
    #expect(database.firestore !== first)
    await database.close()
  }

  @Test func eachDatabaseIDHasItsOwnDatabase() async throws {
    let database = try TestDatabase()
    let other = Firestore.firestore(app: database.app, database: "other")
    other.settings = database.firestore.settings
    try await other.document("a/b").setData(["n": 1])
    #expect(try await !database.firestore.document("a/b").getDocument().exists)
    #expect(try await other.document("a/b").getDocument().exists)
    await database.close()
  }

  @Test func writesBeforeTerminationAreKept() async throws {
    let database = try TestDatabase()
    let queue = database.firestore.settings
    for n in 0..<20 { database.firestore.document("a/\(n)").setData(["n": n], completion: nil) }
    let snapshot = try await database.firestore.document("a/7").getDocument()
    await withCheckedContinuation { done in
      database.firestore.terminate { error in
        #expect(error == nil)
        done.resume()
      }
    }
    #expect(snapshot.data()?["n"] as? Int == 7)
    database.firestore.settings = queue
    #expect(try await database.firestore.collection("a").getDocuments().count == 20)
    await database.close()
  }

  @Test func theDatabaseIsTerminatedWhenTerminateReturns() async throws {
    let database = try TestDatabase()
    let settings = database.firestore.settings
    var wrong: [String] = []
    for round in 0..<10 {
      let old = database.firestore
      old.document("a/\(round)").setData(["n": round], completion: nil)
      old.terminate(completion: nil)
      if database.firestore === old { wrong.append("round \(round)") }
      // The old instance is still closing in the background.
      try await old.clearPersistence()
      database.firestore.settings = settings
    }
    #expect(wrong == [])
    #expect(try await database.firestore.collection("a").getDocuments().isEmpty)
    await database.close()
  }

  @Test func aClientThatWasClosedNeverOpensItsStoreAgain() async throws {
    let database = try TestDatabase()
    let old = database.firestore
    try await old.document("a/b").setData(["n": 1])
    let client = old.client()
    let path = try DocumentPath(["a", "b"])
    try await old.terminate()
    do {
      _ = try await client.document(at: path, source: .default, after: 0)
      Issue.record("it was opened again")
    } catch FirestoreErrorCode.failedPrecondition {}
    try await old.clearPersistence()
    await database.close()
  }

  @Test func clearingDeletesAnUnusedDatabase() async throws {
    let database = try TestDatabase()
    try await database.firestore.document("a/b").setData(["n": 1])
    let (old, settings) = (database.firestore, database.firestore.settings)
    await #expect(throws: (any Error).self) { try await old.clearPersistence() }
    try await old.terminate()
    try await old.clearPersistence()
    database.firestore.settings = settings
    try await database.firestore.clearPersistence()
    #expect(try await !database.firestore.document("a/b").getDocument().exists)
    await database.close()
  }

  @Test func aDatabaseInUseElsewhereIsNotCleared() async throws {
    let database = try TestDatabase()
    let other = try DocumentStore.open(database.firestore.storeDirectory)
    do {
      try await database.firestore.clearPersistence()
      Issue.record("it was cleared")
    } catch FirestoreErrorCode.unavailable {}
    try other.close()
    await database.close()
  }

  @Test func waitingEndsWhenTheWritesAreDurable() async throws {
    let database = try TestDatabase()
    try await database.firestore.waitForPendingWrites()
    for n in 0..<20 { database.firestore.document("a/\(n)").setData(["n": n], completion: nil) }
    database.firestore.document("a/__bad__").updateData(["n": 1], completion: nil)
    database.firestore.document("a/none").updateData(["n": 1], completion: nil)
    let error = await withCheckedContinuation { (done: CheckedContinuation<(any Error)?, Never>) in
      database.firestore.waitForPendingWrites { done.resume(returning: $0) }
    }
    #expect(error == nil)
    #expect(try await database.firestore.collection("a").count.getAggregation(source: .server).count == 20)
    await database.close()
  }

  @Test func networkSwitchHasNoEffectWithoutARemote() async throws {
    let database = try TestDatabase()
    try await database.firestore.disableNetwork()
    try await database.firestore.document("a/b").setData(["n": 1])
    let snapshot = try await database.firestore.document("a/b").getDocument(source: .server)
    #expect(snapshot.exists && !snapshot.metadata.isFromCache)
    try await database.firestore.enableNetwork()
    let error = await withCheckedContinuation { (done: CheckedContinuation<(any Error)?, Never>) in
      database.firestore.disableNetwork { done.resume(returning: $0) }
    }
    #expect(error == nil)
    Firestore.enableLogging(true)
    await database.close()
  }

  /// Guards against a memory leak. A terminated instance, and all objects that its settings reference, must
  /// not be kept until the app is deleted.
  @Test(.timeLimit(.minutes(1)), arguments: ["unused", "used", "with a remote"])
  func aTerminatedInstanceIsReleased(kind: String) async throws {
    let database = try TestDatabase()
    let released = EventCount()
    weak var instance: Firestore?
    do {
      let held = Captive(released)
      let firestore = Firestore.firestore(app: database.app, database: "other")
      instance = firestore
      let settings = FirestoreSettings()
      settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
      settings.conflictResolver = { _ in held.resolution }
      if kind == "with a remote" {
        settings.remote = try LoopbackRemote(authority: try DocumentStore.openInMemory())
      }
      firestore.settings = settings
      if kind != "unused" { try await firestore.document("a/b").setData(["n": 1]) }
      try await firestore.terminate()
    }
    try #require(await released.next(), "the settings are kept")
    // The instance holds its settings until it is released itself.
    #expect(instance == nil)
    await database.close()
  }

  // MARK: Deletion of the app

  @Test func anAppCanBeDeletedInATransactionBlock() throws {
    let database = try TestDatabase()
    let (app, firestore) = (database.app, database.firestore)
    let isDeleted = DispatchSemaphore(value: 0)
    let isCompleted = DispatchSemaphore(value: 0)
    firestore.runTransaction({ _, _ in
      app.delete { _ in isDeleted.signal() }
      return nil
    }) { _, _ in isCompleted.signal() }
    #expect(isDeleted.wait(timeout: .now() + 30) == .success)
    #expect(isCompleted.wait(timeout: .now() + 30) == .success)
  }

  /// A transaction block may be waiting for a callback that runs on the thread that deletes the app. The
  /// deletion must not wait for such a block, even after `terminate` was called.
  @Test(arguments: [false, true])
  func anAppCanBeDeletedWhileABlockWaitsForTheCallersThread(isTerminated: Bool) throws {
    let database = try TestDatabase()
    let (app, firestore) = (database.app, database.firestore)
    let isRunning = DispatchSemaphore(value: 0)
    let resume = DispatchSemaphore(value: 0)
    let isDeleted = DispatchSemaphore(value: 0)
    let isCompleted = DispatchSemaphore(value: 0)
    firestore.runTransaction({ _, _ in
      isRunning.signal()
      resume.wait()
      return nil
    }) { _, _ in isCompleted.signal() }
    #expect(isRunning.wait(timeout: .now() + 30) == .success)
    if isTerminated { firestore.terminate(completion: nil) }
    Thread.detachNewThread { app.delete { _ in isDeleted.signal() } }
    #expect(isDeleted.wait(timeout: .now() + 30) == .success)
    resume.signal()
    #expect(isCompleted.wait(timeout: .now() + 30) == .success)
  }

  /// The thread that fills the stream may itself be waiting for the termination.
  @Test func anUnfinishedStreamDoesNotKeepADatabaseOpen() throws {
    let database = try TestDatabase()
    let (isRead, resume) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let stream = SlowStream(isRead, resume)
    let isCompleted = DispatchSemaphore(value: 0)
    let isOver = DispatchSemaphore(value: 0)
    database.firestore.loadBundle(stream) { _, error in
      #expect((error as NSError?)?.code == FirestoreErrorCode.failedPrecondition.rawValue)
      isCompleted.signal()
    }
    #expect(isRead.wait(timeout: .now() + 30) == .success)
    database.firestore.terminate { _ in isOver.signal() }
    #expect(isOver.wait(timeout: .now() + 30) == .success)
    resume.signal()
    #expect(isCompleted.wait(timeout: .now() + 30) == .success)
  }

  // MARK: Without an app

  @Test func aDirectoryCanBeOpenedWithoutAnApp() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dugout-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let first = try Firestore.open(at: folder)
    let second = try Firestore.open(at: folder)
    try await first.document("a/b").setData(["self": first.document("a/b")])
    let read = try await second.document("a/b").getDocument()["self"] as? DocumentReference
    #expect(read == second.document("a/b"))
    try await first.terminate()
    #expect(try await second.document("a/b").getDocument().exists)
    try await second.terminate()
    let third = try Firestore.open(at: folder)
    #expect(try await third.document("a/b").getDocument().exists)
    try await third.terminate()
  }

  @Test func aDirectoryThatCannotBeOpenedThrows() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dugout-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let holder = try DocumentStore.open(folder.path)
    do {
      _ = try Firestore.open(at: folder)
      Issue.record("it was opened")
    } catch FirestoreErrorCode.unavailable {}
    try holder.close()
    do {
      _ = try Firestore.open(at: try #require(URL(string: "https://example.org")))
      Issue.record("it was opened")
    } catch FirestoreErrorCode.invalidArgument {}
  }

  @Test func everyInMemoryDatabaseIsSeparate() async throws {
    let (one, two) = (Firestore.memory(), Firestore.memory())
    try await one.document("a/b").setData(["n": 1])
    #expect(try await one.document("a/b").getDocument()["n"] as? Int == 1)
    #expect(try await !two.document("a/b").getDocument().exists)
    try await one.terminate()
  }
}

/// An object that the settings reference, and that reports its release.
private final class Captive: Sendable {
  private let released: EventCount

  init(_ released: EventCount) { self.released = released }

  deinit { released.add() }

  var resolution: FirestoreConflict.Resolution { .keepWrites }
}

/// An empty stream whose `read` blocks before it reports the end.
private final class SlowStream: InputStream {
  private let isRead: DispatchSemaphore
  private let resume: DispatchSemaphore

  init(_ isRead: DispatchSemaphore, _ resume: DispatchSemaphore) {
    self.isRead = isRead
    self.resume = resume
    super.init(data: Data())
  }

  override func open() {}

  override func close() {}

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
    isRead.signal()
    resume.wait()
    return 0
  }
}
