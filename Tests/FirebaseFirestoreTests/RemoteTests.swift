// A database whose remote is another database in the same process, the authority.

import Authority
import ByteStore
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

@Suite(.serialized) struct RemoteTests {
  private let authority: DocumentStore
  private let remote: LoopbackRemote

  init() throws {
    authority = try DocumentStore.openInMemory()
    remote = try LoopbackRemote(authority: authority)
  }

  private func client(_ change: (FirestoreSettings) -> Void = { _ in }) -> Firestore {
    let firestore = Firestore.memory()
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = remote
    change(settings)
    firestore.settings = settings
    return firestore
  }

  private func room(_ id: String) throws -> DocumentPath { try DocumentPath(["rooms", id]) }

  private func code(_ body: () async throws -> Void) async -> Int? {
    do {
      try await body()
      return nil
    } catch {
      return (error as NSError).code
    }
  }

  @Test func aWriteReachesTheAuthorityAndOtherClients() async throws {
    let (first, second) = (client(), client())
    try await first.document("rooms/eros").setData(["n": 1])
    #expect(try authority.document(at: room("eros"))?.fields["n"] == .integer(1))
    let read = try await second.document("rooms/eros").getDocument(source: .server)
    #expect(read.get("n") as? Int == 1)
    #expect(!read.metadata.isFromCache && !read.metadata.hasPendingWrites)
    try await first.terminate()
    try await second.terminate()
  }

  @Test func offlineWritesAreVisibleImmediatelyAndSentLater() async throws {
    let firestore = client { $0.acknowledgement = .local }
    try await firestore.disableNetwork()
    try await firestore.document("rooms/eros").setData(["n": 1])
    let cached = try await firestore.document("rooms/eros").getDocument()
    #expect(cached.metadata.isFromCache && cached.metadata.hasPendingWrites)
    #expect(try await firestore.pendingWrites().map(\.paths) == [["rooms/eros"]])
    #expect(try authority.document(at: room("eros")) == nil)
    try await firestore.enableNetwork()
    try await firestore.waitForPendingWrites()
    #expect(try authority.document(at: room("eros")) != nil)
    #expect(try await firestore.pendingWrites().isEmpty)
    try await firestore.terminate()
  }

  @Test func documentCountExcludesCacheMetadata() async throws {
    try authority.commit((0..<30).map { .set(try room("\($0)"), StoredMap()) })
    let firestore = client()
    try await firestore.document("rooms/own").setData(["n": 1])
    #expect(try await firestore.collection("rooms").getDocuments(source: .server).count == 31)
    #expect(try await firestore.statistics().documentCount == 31)
    try await firestore.disableNetwork()
    firestore.document("rooms/late").setData(["n": 1], completion: nil)
    #expect(try await firestore.statistics().documentCount == 32)
    try await firestore.terminate()
  }

  @Test func unknownDocumentsAreReportedAndAnUnreachableServerIsUnavailable() async throws {
    let firestore = client()
    let reference = firestore.document("rooms/eros")
    #expect(await code { _ = try await reference.getDocument(source: .cache) } == 14)
    _ = try await reference.getDocument(source: .server)
    #expect(try await reference.getDocument(source: .cache).exists == false)
    try await firestore.disableNetwork()
    #expect(await code { _ = try await reference.getDocument(source: .server) } == 14)
    #expect(await code { _ = try await firestore.collection("rooms").getDocuments(source: .server) } == 14)
    #expect(try await firestore.collection("rooms").getDocuments().metadata.isFromCache)
    #expect(
      await code { _ = try await firestore.collection("rooms").count.getAggregation(source: .server) } == 14)
    try await firestore.terminate()
  }

  @Test func synchronousReadsReportUnknownDocuments() async throws {
    let firestore = client()
    let reference = firestore.document("rooms/eros")
    #expect(await code { _ = try reference.read() } == 14)
    #expect(await code { _ = try reference.read(source: .cache) } == 14)
    #expect(await code { _ = try reference.read(source: .server) } == 14)
    #expect(await code { _ = try firestore.collection("rooms").read(source: .server) } == 14)
    _ = try await reference.getDocument(source: .server)
    #expect(try !reference.read().exists, "the remote has said that there is none")
    try await reference.setData(["n": 1])
    #expect(try reference.read()["n"] as? Int == 1)
    try await firestore.terminate()
  }

  @Test func anAggregateOfAnUnreachableRemoteIsUnavailable() async throws {
    let firestore = client()
    remote.setReachable(false)
    // This read marks the remote as unreachable. The aggregate therefore makes only one attempt.
    #expect(await code { _ = try await firestore.document("rooms/eros").getDocument() } == 14)
    do {
      _ = try await firestore.collection("rooms").count.getAggregation(source: .server)
      Issue.record("it was answered")
    } catch {
      #expect((error as NSError).code == 14)
      #expect((error as NSError).localizedDescription == "Failed to get result from server.")
    }
    try await firestore.terminate()
  }

  @Test func cacheAggregatesWorkOfflineAndCountPendingWrites() async throws {
    try authority.commit(
      (1...3).map { .set(try room("\($0)"), StoredMap([("n", .integer(Int64($0)))])) })
    let firestore = client { $0.acknowledgement = .local }
    let rooms = firestore.collection("rooms")
    _ = try await rooms.getDocuments(source: .server)
    try await firestore.disableNetwork()
    rooms.document("4").setData(["n": 10]) { _ in }
    rooms.document("1").delete { _ in }
    let numbers = try await rooms.aggregate([.count(), .sum("n"), .average("n")])
      .getAggregation(source: .cache)
    #expect(numbers.count == 3)
    #expect(numbers.get(.sum("n")) as? Int == 15)
    #expect(numbers.get(.average("n")) as? Double == 5)
    try await firestore.terminate()
  }

  /// The authority deletes expired documents, and its clients receive the deletions.
  @Test func theAuthorityAppliesTimeToLive() async throws {
    let field = try StoredFieldPath(["until"])
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let authority = try DocumentStore.openInMemory(options: options)
    let remote = try LoopbackRemote(authority: authority)
    try authority.setTimeToLive(field, ofCollectionGroup: "rooms")
    let past = StoredValue.timestamp(try #require(StoredTimestamp(microseconds: 1_000_000)))
    let store = try DocumentStore.openInMemory()
    try store.setTimeToLive(field, ofCollectionGroup: "rooms")
    let driver = try store.attach(remote)
    await withCheckedContinuation { done in
      driver.send(.disableNetwork)
      driver.write([.set(DocumentPath(unchecked: ["rooms", "a"]), StoredMap([("until", past)]))], .local) {
        _ in done.resume()
      }
    }
    #expect(try store.sweepExpired() == 0 && store.count > 0, "it is for the authority to remove it")
    #expect(try store.document(at: room("a")) != nil)
    #expect(throws: DocumentStoreError.self) { try store.setTimeToLive(nil, ofCollectionGroup: "rooms") }
    driver.send(.enableNetwork)
    await withCheckedContinuation { done in driver.waitForPendingWrites { _ in done.resume() } }
    let (heard, continuation) = AsyncStream<Int>.makeStream()
    _ = driver.listen(to: StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"]))), ListenRules()) {
      if case .success(let snapshot) = $0 { continuation.yield(snapshot.documents.count) }
    }
    for await count in heard where count == 1 { break }
    #expect(try authority.sweepExpired() == 1)
    remote.refresh()
    for await count in heard where count == 0 { break }
    #expect(try store.document(at: room("a")) == nil)
    driver.stop()
  }

  /// Each attempt at the query fails. The client, its other listeners and its writes continue.
  @Test func aQueryBeyondTheLimitsFailsAlone() async throws {
    let firestore = client()
    let rooms = firestore.collection("rooms")
    let (counts, tellCount) = AsyncStream<Int>.makeStream()
    let (codes, tellCode) = AsyncStream<Int>.makeStream()
    _ = rooms.addSnapshotListener { snapshot, _ in tellCount.yield(snapshot?.count ?? -1) }
    var count = counts.makeAsyncIterator()
    #expect(await count.next() == 0)
    var listenerCode = codes.makeAsyncIterator()
    var wrong: [String] = []
    for (message, query) in Complaint.queriesBeyondLimits {
      let query = query(rooms)
      _ = query.addSnapshotListener { _, error in tellCode.yield((error as NSError?)?.code ?? 0) }
      let found = [
        await listenerCode.next(), await code { _ = try await query.getDocuments() },
        await code { _ = try await query.getDocuments(source: .server) },
      ]
      if found != [3, 3, 3] { wrong.append("\(message): \(found)") }
    }
    #expect(wrong == [])
    try await rooms.document("eros").setData(["n": 1])
    #expect(await count.next() == 1)
    #expect(try await rooms.getDocuments(source: .server).count == 1)
    try await firestore.terminate()
  }

  @Test func aRejectedWriteIsReportedAndRevertedAndLaterWritesProceed() async throws {
    var rules = LoopbackRules()
    rules.mayWrite = { _, mutations in
      mutations.contains { $0.path.id == "secret" } ? RemoteError(.permissionDenied, "no") : nil
    }
    remote.setRules(rules)
    let firestore = client()
    async let refused = code { try await firestore.document("rooms/secret").setData(["n": 1]) }
    try await firestore.document("rooms/eros").setData(["n": 2])
    #expect(await refused == 7)
    let rooms = try await firestore.collection("rooms").getDocuments()
    #expect(rooms.documents.map(\.documentID) == ["eros"])
    try await firestore.terminate()
  }

  @Test func terminationEndsWaitsForAnUnreachableRemote() async throws {
    let firestore = client()
    try await firestore.disableNetwork()
    async let write = code { try await firestore.document("rooms/eros").setData(["n": 1]) }
    for try await progress in firestore.writeQueueProgress where progress.pendingCount > 0 { break }
    let waited = Locked<Int?>(nil)
    firestore.waitForPendingWrites { error in waited.withLock { $0 = (error as NSError?)?.code ?? 0 } }
    try await firestore.terminate()
    #expect(await write == 1)
    // This completion is queued after all earlier callbacks.
    await withCheckedContinuation { done in firestore.terminate { _ in done.resume() } }
    #expect(waited.withLock { $0 } == 1)
  }

  @Test func cancellingAWriteKeepsTheWaitForEarlierWrites() async throws {
    let firestore = client { $0.acknowledgement = .local }
    try await firestore.disableNetwork()
    try await firestore.document("rooms/a").setData(["n": 1])
    try await firestore.document("rooms/b").setData(["n": 2])
    let isOver = Locked(false)
    let wait = Task {
      try await firestore.waitForPendingWrites()
      isOver.withLock { $0 = true }
    }
    // These fifty calls leave enough time for `waitForPendingWrites` to start. The fifty calls after the
    // cancellation reveal a wait that ends too early.
    for _ in 0..<50 { _ = try await firestore.pendingWrites() }
    let last = try #require(try await firestore.pendingWrites().last)
    try await firestore.cancelPendingWrite(last.id)
    for _ in 0..<50 { _ = try await firestore.pendingWrites() }
    #expect(!isOver.withLock { $0 })
    try await firestore.enableNetwork()
    try await wait.value
    #expect(try authority.document(at: room("a")) != nil)
    #expect(try authority.document(at: room("b")) == nil)
    try await firestore.terminate()
  }

  @Test func pendingServerTimestampsReadAsRequested() async throws {
    let firestore = client { $0.acknowledgement = .local }
    let reference = firestore.document("rooms/eros")
    try await reference.setData(["at": "before"])
    try await firestore.waitForPendingWrites()
    try await firestore.disableNetwork()
    try await reference.updateData(["at": FieldValue.serverTimestamp()])
    let pending = try await reference.getDocument(source: .cache)
    #expect(pending.get("at") is NSNull)
    #expect(pending.get("at", serverTimestampBehavior: .previous) as? String == "before")
    #expect(pending.get("at", serverTimestampBehavior: .estimate) is Timestamp)
    try await firestore.enableNetwork()
    try await firestore.waitForPendingWrites()
    #expect(try await reference.getDocument(source: .server).get("at") is Timestamp)
    try await firestore.terminate()
  }

  @Test func listenersSeeAWritePendingThenConfirmed() async throws {
    let firestore = client()
    var snapshots = firestore.collection("rooms").snapshots(includeMetadataChanges: true).makeAsyncIterator()
    var first = try await snapshots.next()
    while first?.metadata.isFromCache == true { first = try await snapshots.next() }
    #expect(first?.isEmpty == true)
    let write = Task { try await firestore.document("rooms/eros").setData(["n": 1]) }
    let pending = try await snapshots.next()
    #expect(pending?.metadata.hasPendingWrites == true)
    #expect(pending?.documentChanges(includeMetadataChanges: true).map(\.type) == [.added])
    let confirmed = try await snapshots.next()
    #expect(confirmed?.metadata.hasPendingWrites == false && confirmed?.count == 1)
    try await write.value
    try await firestore.terminate()
  }

  @Test func writesBelongToTheirUser() async throws {
    let firestore = client { $0.acknowledgement = .local }
    try await firestore.disableNetwork()
    try await firestore.changeUser("ann")
    try await firestore.document("rooms/eros").setData(["n": 1])
    try await firestore.changeUser("bob")
    #expect(try await firestore.collection("rooms").getDocuments(source: .cache).isEmpty)
    #expect(try await firestore.pendingWrites().isEmpty)
    try await firestore.changeUser("ann")
    #expect(try await firestore.collection("rooms").getDocuments(source: .cache).count == 1)
    try await firestore.terminate()
  }

  @Test func aWaitingWriteCanBeCancelled() async throws {
    let firestore = client()
    try await firestore.disableNetwork()
    async let outcome = code { try await firestore.document("rooms/eros").setData(["n": 1]) }
    var pending = try await firestore.pendingWrites()
    while pending.isEmpty { pending = try await firestore.pendingWrites() }
    try await firestore.cancelPendingWrite(pending[0].id)
    #expect(await outcome == 1)
    #expect(try await firestore.collection("rooms").getDocuments(source: .cache).isEmpty)
    try await firestore.terminate()
  }

  @Test func transactionsReadAndWriteAtTheAuthority() async throws {
    let firestore = client()
    let reference = firestore.document("counters/all")
    for _ in 0..<3 {
      _ = try await firestore.runTransaction { transaction, _ in
        let count = (try? transaction.getDocument(reference))?.get("n") as? Int ?? 0
        transaction.setData(["n": count + 1], forDocument: reference)
        return nil
      }
    }
    #expect(try authority.document(at: DocumentPath(["counters", "all"]))?.fields["n"] == .integer(3))
    try await firestore.terminate()
  }

  @Test func unawaitedCallsTakeEffectInOrder() async throws {
    let firestore = client { $0.acknowledgement = .local }
    // A reachable remote would accept the writes and send them to the next client.
    remote.setReachable(false)
    try await firestore.disableNetwork()
    let done = DispatchQueue(label: "dugout.test.done")
    let heard = Locked(0)
    // The test awaits none of these calls, so later calls must not overtake earlier ones.
    for number in 0..<50 {
      firestore.document("rooms/\(number)").setData(["n": number]) { _ in }
      firestore.enableNetwork { _ in done.async { heard.withLock { $0 += 1 } } }
      firestore.disableNetwork { _ in done.async { heard.withLock { $0 += 1 } } }
    }
    try await firestore.changeUser("ann")
    #expect(try await firestore.pendingWrites().isEmpty, "the writes were made before the user changed")
    #expect(try firestore.collection("rooms").read().isEmpty)
    try await firestore.changeUser(nil)
    firestore.document("rooms/last").setData(["n": 1]) { _ in }
    #expect(try firestore.document("rooms/last").read().exists, "a read sees the writes before it")
    let count = try await firestore.pendingWrites().count
    firestore.document("rooms/more").setData(["n": 1]) { _ in }
    #expect(try await firestore.pendingWrites().count == count + 1)
    try await firestore.terminate()
  }

  /// The directory is in use by another store during the first write, and free during the second.
  @Test func aWriteNeverBypassesTheQueue() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "dugout-test-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    FirebaseApp.configure(name: "remote-late", options: FirebaseOptions(directory: folder))
    let app = try #require(FirebaseApp.app(name: "remote-late"))
    let firestore = Firestore.firestore(app: app)
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = remote
    settings.acknowledgement = .local
    firestore.settings = settings
    let holder = try DocumentStore.open(firestore.storeDirectory)
    let reference = firestore.document("rooms/eros")
    #expect(await code { try await reference.setData(["n": 1]) } == 14)
    try holder.close()
    try await reference.setData(["n": 2])
    try await firestore.waitForPendingWrites()
    #expect(try authority.document(at: room("eros"))?.fields["n"] == .integer(2))
    await withCheckedContinuation { done in app.delete { _ in done.resume() } }
  }

  @Test func aReadOnlyTransactionSeesOneSnapshot() async throws {
    let firestore = client()
    try authority.commit([.set(try room("a"), StoredMap([("n", .integer(1))]))])
    let (a, b) = (firestore.document("rooms/a"), firestore.document("rooms/b"))
    let (store, path) = (authority, try room("a"))
    let attempts = Locked(0)
    let seen = try await firestore.runTransaction { transaction, _ in
      let first = (try? transaction.getDocument(a))?.get("n") as? Int
      let attempt = attempts.withLock { attempts in
        attempts += 1
        return attempts
      }
      if attempt == 1 { _ = try? store.commit([.set(path, StoredMap([("n", .integer(2))]))]) }
      _ = try? transaction.getDocument(b)
      return first
    }
    #expect(seen as? Int == 2, "its first read was outdated at its end")
    #expect(attempts.withLock { $0 } == 2)
    try await firestore.terminate()
  }

  @Test func aTransactionIsRetriedWhileTheRemoteIsBrieflyUnreachable() async throws {
    let firestore = client()
    let reference = firestore.document("rooms/a")
    _ = try await reference.getDocument(source: .server)
    remote.setReachable(false)
    let remote = remote
    let attempts = Locked(0)
    _ = try await firestore.runTransaction { transaction, errorPointer in
      let attempt = attempts.withLock { attempts in
        attempts += 1
        return attempts
      }
      if attempt == 2 { remote.setReachable(true) }
      do {
        _ = try transaction.getDocument(reference)
      } catch {
        errorPointer?.pointee = error as NSError
        return nil
      }
      transaction.setData(["n": 1], forDocument: reference)
      return nil
    }
    #expect(attempts.withLock { $0 } == 2)
    #expect(try authority.document(at: room("a")) != nil)
    try await firestore.terminate()
  }

  /// The kind of listener that holds the last reference to a database. Removing the listener releases the
  /// database on the driver's own queue.
  enum LastListener: CaseIterable {
    case snapshots, rejections, queue
  }

  @Test(.timeLimit(.minutes(5)), arguments: LastListener.allCases)
  func removingTheLastListenerMayReleaseTheDatabase(_ last: LastListener) async throws {
    let (ends, continuation) = AsyncStream<Void>.makeStream()
    do {
      let remote = EndingRemote(remote) { continuation.yield() }
      let firestore = client { $0.remote = remote }
      let registration: any ListenerRegistration =
        switch last {
        case .snapshots:
          firestore.collection("rooms").addSnapshotListener { _, _ in withExtendedLifetime(firestore) {} }
        case .rejections:
          firestore.addRejectedWritesListener { _, _ in withExtendedLifetime(firestore) {} }
        case .queue:
          firestore.addWriteQueueListener { _, _ in withExtendedLifetime(firestore) {} }
        }
      _ = try await firestore.collection("rooms").getDocuments(source: .cache)
      registration.remove()
    }
    var iterator = ends.makeAsyncIterator()
    _ = await iterator.next()
  }

  @Test func theQueueAndTheCacheSurviveARestart() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "dugout-test-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    FirebaseApp.configure(name: "remote-restart", options: FirebaseOptions(directory: folder))
    let app = try #require(FirebaseApp.app(name: "remote-restart"))
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = remote
    settings.acknowledgement = .local
    var firestore = Firestore.firestore(app: app)
    firestore.settings = settings
    try await firestore.disableNetwork()
    let reference = firestore.document("rooms/eros")
    try await reference.setData(["n": 1])
    try await reference.updateData(["n": FieldValue.increment(Int64(2))])
    try await firestore.terminate()

    firestore = Firestore.firestore(app: app)
    #expect(
      await code { try await firestore.document("rooms/eros").delete() } == 9, "a cache needs its remote")
    try await firestore.terminate()

    firestore = Firestore.firestore(app: app)
    firestore.settings = settings
    try await firestore.waitForPendingWrites()
    #expect(try authority.document(at: room("eros"))?.fields["n"] == .integer(3))
    await withCheckedContinuation { done in app.delete { _ in done.resume() } }
  }

  @Test(arguments: [RemoteAttachment.refuse, .upload, .discard])
  func documentsThatPredateTheRemoteFollowTheAttachmentOption(_ attachment: RemoteAttachment) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "dugout-test-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let name = "remote-\(attachment)"
    FirebaseApp.configure(name: name, options: FirebaseOptions(directory: folder))
    let app = try #require(FirebaseApp.app(name: name))
    var firestore = Firestore.firestore(app: app)
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    firestore.settings = settings
    try await firestore.document("rooms/eros").setData(["n": 1])
    try await firestore.terminate()
    firestore = Firestore.firestore(app: app)
    settings.remote = remote
    settings.remoteAttachment = attachment
    firestore.settings = settings
    let rooms = firestore.collection("rooms")
    switch attachment {
    case .refuse:
      #expect(await code { _ = try await rooms.getDocuments() } == 9)
    case .upload:
      _ = try await rooms.getDocuments(source: .cache)
      try await firestore.waitForPendingWrites()
      #expect(try authority.document(at: room("eros"))?.fields["n"] == .integer(1))
    case .discard:
      #expect(try await rooms.getDocuments(source: .cache).isEmpty)
    }
    await withCheckedContinuation { done in app.delete { _ in done.resume() } }
  }
}

/// A remote that calls a closure when the client has released the remote.
private final class EndingRemote: Remote {
  private let remote: LoopbackRemote
  private let end: @Sendable () -> Void

  init(_ remote: LoopbackRemote, end: @escaping @Sendable () -> Void) {
    self.remote = remote
    self.end = end
  }

  deinit { end() }

  var documentsName: String { remote.documentsName }

  func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream { remote.openWatchStream(as: user, handler) }

  func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream { remote.openWriteStream(as: user, handler) }

  func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
  ) { remote.documents(at: paths, as: user, answer) }

  func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) { remote.commit(mutations, as: user, answer) }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
  ) { remote.aggregate(aggregates, over: query, as: user, answer) }
}
