// A remote that stays connected but stops answering: every call still ends.

import Authority
import ByteStore
import DocumentStore
import Foundation
import OfflineSync
import Testing

@testable import FirebaseFirestore

@Suite struct SilentRemoteTests {
  private let authority: DocumentStore
  private let remote: SilentRemote
  private let firestore: Firestore

  init() throws {
    authority = try DocumentStore.openInMemory()
    remote = SilentRemote(try LoopbackRemote(authority: authority))
    firestore = Firestore.memory()
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = remote
    settings.remoteTimeLimit = 1.2
    firestore.settings = settings
    try authority.commit([.set(DocumentPath(["rooms", "eros"]), StoredMap([("n", .integer(1))]))])
  }

  private func failure(_ body: () async throws -> Void) async -> NSError? {
    do {
      try await body()
      return nil
    } catch {
      return error as NSError
    }
  }

  /// Retries a read from a responsive remote, because the short timeout may expire on a busy machine.
  private func served<Value>(_ read: () async throws -> Value) async throws -> Value {
    while true {
      do {
        return try await read()
      } catch let error as NSError where error.code == 14 {
        try Task.checkCancellation()
      }
    }
  }

  @Test(.timeLimit(.minutes(15))) func readsReturnTheCachedDocumentOrFail() async throws {
    let rooms = firestore.collection("rooms")
    _ = try await served { try await rooms.getDocuments(source: .server) }
    remote.isSilent = true
    let cached = try await rooms.getDocuments()
    #expect(cached.metadata.isFromCache && cached.documents.map(\.documentID) == ["eros"])
    #expect(try await rooms.document("eros").getDocument()["n"] as? Int == 1)
    let query = await failure { _ = try await rooms.getDocuments(source: .server) }
    #expect(
      query?.code == 14 && query?.localizedDescription.hasPrefix("Failed to get documents from") == true)
    let document = await failure { _ = try await rooms.document("none").getDocument() }
    #expect(document?.localizedDescription == "Failed to get document because the client is offline.")
    remote.isSilent = false
    let other = try await served { try await firestore.document("other/one").getDocument(source: .server) }
    #expect(!other.exists)
    try await firestore.terminate()
  }

  @Test func aggregatesFailAsUnavailable() async throws {
    remote.isSilent = true
    let error = await failure {
      _ = try await firestore.collection("rooms").count.getAggregation(source: .server)
    }
    #expect(error?.code == 14 && error?.localizedDescription == "Failed to get result from server.")
    try await firestore.terminate()
  }

  /// The commit may have happened, so another attempt could apply it twice.
  @Test func aTransactionWhoseCommitIsNotAnsweredIsNotRetried() async throws {
    remote.losesCommits = true
    let reference = firestore.document("rooms/eros")
    let attempts = Locked(0)
    let error = await failure {
      _ = try await firestore.runTransaction { transaction, _ in
        attempts.withLock { $0 += 1 }
        let n = (try? transaction.getDocument(reference))?.get("n") as? Int ?? 0
        transaction.setData(["n": n + 1], forDocument: reference)
        return nil
      }
    }
    #expect(error?.code == 4 && attempts.withLock { $0 } == 1)
    #expect(try authority.document(at: DocumentPath(["rooms", "eros"]))?.fields["n"] == .integer(2))
    try await firestore.terminate()
  }

  /// If the database is terminated during a commit, the outcome of the commit is unknown.
  @Test func aTransactionInterruptedInItsCommitByTerminationIsNotRetried() throws {
    setTimeLimit(600)
    defer { firestore.terminate(completion: nil) }
    remote.losesCommits = true
    let document = firestore.document("rooms/eros")
    let attempts = Locked(0)
    let isCompleted = DispatchSemaphore(value: 0)
    let codes = Locked<[Int]>([])
    firestore.runTransaction({ transaction, _ in
      attempts.withLock { $0 += 1 }
      transaction.setData(["n": 2], forDocument: document)
      return nil
    }) { _, error in
      codes.withLock { $0.append((error as NSError?)?.code ?? 0) }
      isCompleted.signal()
    }
    try #require(remote.isCommitting.wait(timeout: .now() + 30) == .success)
    firestore.terminate(completion: nil)
    #expect(isCompleted.wait(timeout: .now() + 30) == .success)
    #expect(codes.withLock { $0 } == [4] && attempts.withLock { $0 } == 1)
  }

  private func setTimeLimit(_ seconds: Double) {
    let settings = firestore.settings
    settings.remoteTimeLimit = seconds
    firestore.settings = settings
  }

  /// Calls `done` with the error code of each transaction.
  private func startTransactions(_ count: Int, _ done: @escaping @Sendable (Int) -> Void) {
    let document = firestore.document("rooms/eros")
    for _ in 0..<count {
      firestore.runTransaction({ transaction, errorPointer in
        do {
          return try transaction.getDocument(document).data()
        } catch {
          errorPointer?.pointee = error as NSError
          return nil
        }
      }) { _, error in done((error as NSError?)?.code ?? 0) }
    }
  }

  /// Starts more transactions than the pool has worker threads. The transactions' own timeout is much longer
  /// than the time limit of the wait below.
  @Test func sixtyTransactionsWaitConcurrentlyAndEndWithTheDatabase() throws {
    setTimeLimit(600)
    defer { firestore.terminate(completion: nil) }
    remote.isSilent = true
    let codes = Locked<[Int]>([])
    startTransactions(60) { code in codes.withLock { $0.append(code) } }
    for _ in 0..<60 { try #require(remote.isAsked.wait(timeout: .now() + 30) == .success) }
    let isOver = DispatchSemaphore(value: 0)
    let completedBefore = Locked(0)
    firestore.terminate { _ in
      let count = codes.withLock { $0.count }
      completedBefore.withLock { $0 = count }
      isOver.signal()
    }
    #expect(isOver.wait(timeout: .now() + 30) == .success)
    #expect(completedBefore.withLock { $0 } == 60)
    #expect(codes.withLock { $0.allSatisfy { $0 == 1 } })
  }

  /// A pool has at most 255 threads, and these transactions occupy all threads of their pool.
  @Test func threeHundredWaitingTransactionsLeaveThreadsForOtherDatabases() throws {
    setTimeLimit(600)
    remote.isSilent = true
    let isOver = DispatchSemaphore(value: 0)
    defer {
      firestore.terminate { _ in isOver.signal() }
      isOver.wait()
    }
    startTransactions(300) { _ in }
    for _ in 0..<250 { try #require(remote.isAsked.wait(timeout: .now() + 30) == .success) }
    let other = Firestore.memory()
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.other")
    other.settings = settings
    let isRead = DispatchSemaphore(value: 0)
    other.document("rooms/eros").setData(["n": 1], completion: nil)
    other.document("rooms/eros").getDocument { _, _ in isRead.signal() }
    #expect(isRead.wait(timeout: .now() + 30) == .success)
    other.terminate(completion: nil)
  }

  /// Covers both forms of the call. Without the termination, the client would retry the remote for a minute.
  @Test func terminationEndsAWaitingAggregate() async throws {
    setTimeLimit(600)
    remote.isSilent = true
    let count = firestore.collection("rooms").count
    let heard = Locked<[Int]>([])
    let waiting = Task { _ = try await count.getAggregation(source: .server) }
    count.getAggregation(source: .server) { _, error in
      heard.withLock { $0.append((error as NSError?)?.code ?? 0) }
    }
    for _ in 0..<2 { try #require(await comes(remote.isAskedToCount)) }
    try await firestore.terminate()
    // While one call waited for a thread, the other call may have sent several retries to the remote.
    while isThere(remote.isAskedToCount) {}
    // This completion is queued after all earlier callbacks.
    await withCheckedContinuation { done in firestore.terminate { _ in done.resume() } }
    #expect(heard.withLock { $0 } == [1])
    #expect(await failure { try await waiting.value }?.code == 1)
    #expect(!isThere(remote.isAskedToCount), "no caller keeps asking")
  }

  /// The connection to the remote stays open for the second instance.
  @Test func terminationEndsReadsThoughAnotherInstanceSharesTheStore() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dugout-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    remote.isSilent = true
    setTimeLimit(600)
    let settings = firestore.settings
    let first = try Firestore.open(at: folder, settings: settings)
    let second = try Firestore.open(at: folder, settings: settings)
    let document = first.document("rooms/eros")
    let waiting = Task { _ = try await document.getDocument(source: .server) }
    try #require(await comes(remote.isWatched))
    try await first.terminate()
    #expect(await failure { try await waiting.value }?.code == 1)
    try await second.terminate()
  }

  private func isThere(_ sign: DispatchSemaphore) -> Bool { sign.wait(timeout: .now()) == .success }

  /// Waits on a thread of its own. The pool may have only one thread per processor, and the code that signals
  /// the event needs a thread too.
  private func comes(_ sign: DispatchSemaphore, seconds: Double = 600) async -> Bool {
    await withCheckedContinuation { (done: CheckedContinuation<Bool, Never>) in
      Thread.detachNewThread { done.resume(returning: sign.wait(timeout: .now() + seconds) == .success) }
    }
  }

  @Test func aWaitingReadFailsBeforeTerminationCompletes() {
    remote.isSilent = true
    let heard = Locked<[String]>([])
    let isOver = DispatchSemaphore(value: 0)
    firestore.document("rooms/eros").getDocument(source: .server) { _, error in
      let code = (error as NSError?)?.code ?? 0
      heard.withLock { $0.append("read \(code)") }
    }
    firestore.terminate { _ in
      heard.withLock { $0.append("end") }
      isOver.signal()
    }
    #expect(isOver.wait(timeout: .now() + 30) == .success)
    #expect(heard.withLock { $0 } == ["read 1", "end"])
  }

  @Test func allAttemptsOfATransactionShareOneTimeout() throws {
    remote.isSilent = true
    let limit = RemoteTimeLimit(seconds: 0.02, each: 0.01)
    let path = try DocumentPath(["rooms", "eros"])
    var errors: [OfflineSyncError?] = []
    for _ in 0..<10 where !limit.isOver {
      do {
        _ = try RemoteTransaction(remote, as: nil, limit: limit).document(at: path)
        errors.append(nil)
      } catch let error as OfflineSyncError {
        errors.append(error)
      }
    }
    let unanswered = OfflineSyncError.remote(RemoteReply<Void>.unanswered)
    #expect(!errors.isEmpty && errors == Array(repeating: unanswered, count: errors.count))
    #expect(limit.isOver && limit.secondsForOne == 0)
  }
}

/// A remote that receives every request. A test can make this remote lose its answers.
private final class SilentRemote: Remote {
  private struct State {
    var isSilent = false
    var losesCommits = false
  }

  private let remote: LoopbackRemote
  private let state = Locked(State())
  /// Signaled once for each request for documents.
  let isAsked = DispatchSemaphore(value: 0)
  let isAskedToCount = DispatchSemaphore(value: 0)
  let isCommitting = DispatchSemaphore(value: 0)
  let isWatched = DispatchSemaphore(value: 0)

  init(_ remote: LoopbackRemote) { self.remote = remote }

  var isSilent: Bool {
    get { state.withLock { $0.isSilent } }
    set { state.withLock { $0.isSilent = newValue } }
  }

  var losesCommits: Bool {
    get { state.withLock { $0.losesCommits } }
    set { state.withLock { $0.losesCommits = newValue } }
  }

  var documentsName: String { remote.documentsName }

  func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream {
    isWatched.signal()
    return remote.openWatchStream(as: user) { [self] event in if !isSilent { handler(event) } }
  }

  func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream {
    remote.openWriteStream(as: user) { [self] event in if !isSilent { handler(event) } }
  }

  func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
  ) {
    isAsked.signal()
    remote.documents(at: paths, as: user) { [self] in if !isSilent { answer($0) } }
  }

  func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) {
    isCommitting.signal()
    remote.commit(mutations, as: user) { [self] in if !isSilent, !losesCommits { answer($0) } }
  }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
  ) {
    isAskedToCount.signal()
    remote.aggregate(aggregates, over: query, as: user) { [self] in if !isSilent { answer($0) } }
  }
}
