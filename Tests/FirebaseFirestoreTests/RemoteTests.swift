// A database with a remote: another database in the same process is the authority.

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

  @Test func offlineWritesAreSeenAtOnceAndSentLater() async throws {
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

  @Test func aCacheThatHasNeverSeenADocumentSaysSoAndAServerThatIsAwayIsUnavailable() async throws {
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

  @Test func aRejectedWriteIsReportedAndTakenBackAndThoseBehindItProceed() async throws {
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

  @Test func theEndOfADatabaseEndsWhoWaitsForARemoteThatIsAway() async throws {
    let firestore = client()
    try await firestore.disableNetwork()
    async let write = code { try await firestore.document("rooms/eros").setData(["n": 1]) }
    while try await firestore.pendingWrites().isEmpty { await Task.yield() }
    async let wait = code { try await firestore.waitForPendingWrites() }
    // Issued before the end, since the driver takes things up one after the other.
    _ = try await firestore.pendingWrites()
    try await firestore.terminate()
    #expect(await write == 1)
    #expect([1, 9].contains(await wait))
  }

  @Test func aWriteThatIsCancelledDoesNotEndTheWaitForThoseBeforeIt() async throws {
    let firestore = client { $0.acknowledgement = .local }
    try await firestore.disableNetwork()
    try await firestore.document("rooms/a").setData(["n": 1])
    try await firestore.document("rooms/b").setData(["n": 2])
    let isOver = Locked(false)
    let wait = Task {
      try await firestore.waitForPendingWrites()
      isOver.withLock { $0 = true }
    }
    // As often as it takes for the wait to be taken up, and as a wait that ended too early would be seen.
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

  @Test func timesThatAreStillToBeSetReadAsTheCallerWants() async throws {
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

  @Test func listenersSeeAWriteTwiceFirstPendingThenConfirmed() async throws {
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

  @Test func aWriteThatWaitsCanBeCancelled() async throws {
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
  func documentsFromBeforeTheRemoteAreTreatedAsWasSaid(_ attachment: RemoteAttachment) async throws {
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
