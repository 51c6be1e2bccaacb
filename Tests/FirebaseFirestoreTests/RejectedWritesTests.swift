// Listeners for rejected writes: which listeners receive a rejection, and when.

import Authority
import ByteStore
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

@Suite(.timeLimit(.minutes(2))) struct RejectedWritesTests {
  private let authority: DocumentStore
  private let remote: LoopbackRemote
  private let settings = FirestoreSettings()
  private let log = Log()

  /// Sets a rule that rejects every write to a document whose name begins with "secret".
  init() throws {
    authority = try DocumentStore.openInMemory()
    remote = try LoopbackRemote(authority: authority)
    var rules = LoopbackRules()
    rules.mayWrite = { _, mutations in
      mutations.contains { $0.path.id.hasPrefix("secret") }
        ? RemoteError(.permissionDenied, "not for you") : nil
    }
    remote.setRules(rules)
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = remote
    settings.acknowledgement = .local
  }

  private func client(_ acknowledgement: FirestoreAcknowledgement = .local) -> Firestore {
    let firestore = Firestore.memory()
    settings.acknowledgement = acknowledgement
    firestore.settings = settings
    return firestore
  }

  private func write(_ ids: String..., to firestore: Firestore) async throws {
    for id in ids { try await firestore.document("rooms/\(id)").setData(["n": 2]) }
  }

  /// Logs each rejection as one line.
  private func listen(to firestore: Firestore, as name: String) -> any ListenerRegistration {
    firestore.addRejectedWritesListener { [log] rejected, error in
      log.add("\(name): \(rejected?.write.paths.joined(separator: " ") ?? "\(error as NSError?)")")
    }
  }

  /// Waits until all callbacks that are already queued have run.
  private func waitForCallbacks(of firestore: Firestore) async throws {
    try await firestore.waitForPendingWrites()
    await withCheckedContinuation { done in firestore.enableNetwork { _ in done.resume() } }
  }

  @Test func aRejectionReportsWriteAndReasonAndLaterWritesProceed() async throws {
    let firestore = client()
    try await firestore.disableNetwork()
    let events = Events<RejectedWrite>()
    firestore.addRejectedWritesListener(events.add)
    let batch = firestore.batch()
    for id in ["open", "secret"] { batch.setData(["n": 1], forDocument: firestore.document("rooms/\(id)")) }
    try await batch.commit()
    try await write("eros", to: firestore)
    let pending = try #require(try await firestore.pendingWrites().first)
    try await firestore.enableNetwork()

    let rejected = try #require(await events.next)
    #expect(rejected.id == pending.id && rejected.write.id == pending.id)
    #expect(rejected.write.paths == ["rooms/open", "rooms/secret"] && rejected.write.date == pending.date)
    #expect(rejected.write.isSent)
    #expect(rejected.error.domain == FirestoreErrorDomain && rejected.error.code == 7)
    #expect(rejected.error.localizedDescription == "not for you")
    try await firestore.waitForPendingWrites()
    let rooms = try await firestore.collection("rooms").getDocuments(source: .cache)
    #expect(rooms.documents.map(\.documentID) == ["eros"])
    #expect(try authority.document(at: DocumentPath(["rooms", "eros"])) != nil)
    try await firestore.terminate()
  }

  /// The store opens, and the remote may reject the write, before a listener can be registered.
  @Test(arguments: [false, true])
  func rejectionsOfWritesFromAnEarlierRunAreReportedOnce(afterItIsRefused isLate: Bool) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "dugout-test-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    var firestore = try Firestore.open(at: folder, settings: settings)
    try await firestore.disableNetwork()
    try await write("secret", to: firestore)
    let pending = try #require(try await firestore.pendingWrites().first)
    try await firestore.terminate()

    firestore = try Firestore.open(at: folder, settings: settings)
    if isLate { try await firestore.waitForPendingWrites() }
    let (first, second) = (Events<RejectedWrite>(), Events<RejectedWrite>())
    firestore.addRejectedWritesListener(first.add)
    let rejected = try #require(await first.next)
    #expect(rejected.id == pending.id && rejected.write.paths == ["rooms/secret"])
    #expect(rejected.error.code == 7)
    // The callback has returned.
    try await waitForCallbacks(of: firestore)
    firestore.addRejectedWritesListener(second.add)
    try await write("secret2", to: firestore)
    #expect(await first.next?.write.paths == ["rooms/secret2"])
    #expect(
      await second.next?.write.paths == ["rooms/secret2"], "a reported write is not reported again")
    try await firestore.terminate()
  }

  @Test func theWritesOfARejectedBatchCanBeShownAndMadeAgain() async throws {
    let firestore = client()
    let batch = firestore.batch()
    let room = firestore.document("rooms/secret")
    let friend = firestore.document("rooms/friend")
    try authority.commit([.set(DocumentPath(["rooms", "friend"]), StoredMap())])
    batch.setData(["n": 1, "in": ["friend": friend], "at": FieldValue.serverTimestamp()], forDocument: room)
    batch.updateData(
      ["n": FieldValue.increment(2.0), "in.a": "b", "old": FieldValue.delete()], forDocument: friend)
    batch.setData(["tags": FieldValue.arrayUnion(["x"])], forDocument: friend, merge: true)
    batch.deleteDocument(firestore.document("rooms/gone"))
    let events = Events<RejectedWrite>()
    firestore.addRejectedWritesListener(events.add)
    try await batch.commit()
    let rejected = try #require(await events.next)
    #expect(rejected.isComplete && rejected.documents.map(\.kind) == [.set, .update, .merge, .delete])
    #expect(
      rejected.documents.map(\.path) == ["rooms/secret", "rooms/friend", "rooms/friend", "rooms/gone"])
    let data = rejected.documents.map(\.data)
    #expect(data[0]["n"] as? Int == 1 && data[0]["at"] as? FieldValue == .serverTimestamp())
    #expect((data[0]["in"] as? [String: Any])?["friend"] as? DocumentReference == friend)
    #expect(data[1]["n"] as? FieldValue == .increment(2.0) && data[1]["in.a"] as? String == "b")
    #expect(data[1]["old"] as? FieldValue == .delete() && data[1].count == 3)
    #expect(data[2]["tags"] as? FieldValue == .arrayUnion(["x"]) && data[3].isEmpty)

    remote.setRules(LoopbackRules())
    try await firestore.batch().addWrites(of: rejected).commit()
    try await firestore.waitForPendingWrites()
    #expect(try authority.document(at: DocumentPath(["rooms", "secret"]))?.fields["n"] == .integer(1))
    let stored = try #require(try authority.document(at: DocumentPath(["rooms", "friend"]))).fields
    #expect(stored["n"] == .double(2) && stored["tags"] == .array([.string("x")]))
    try await firestore.terminate()
  }

  /// The program ends while the callback runs, or before the loop asks for the next element.
  @Test(arguments: [false, true])
  func aRejectionIsReportedAgainUnlessItWasSeenBeforeTheEnd(byALoop isLoop: Bool) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "dugout-test-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    var firestore = try Firestore.open(at: folder, settings: settings)
    try await write("secret1", "secret2", to: firestore)
    try await firestore.waitForPendingWrites()
    if isLoop {
      var iterator = firestore.rejectedWrites.makeAsyncIterator()
      #expect(try await iterator.next()?.write.paths == ["rooms/secret1"])
      #expect(try await iterator.next()?.write.paths == ["rooms/secret2"])
    } else {
      let registration = Locked<(any ListenerRegistration)?>(nil)
      let (calls, call) = AsyncStream.makeStream(of: Void.self)
      let added = firestore.addRejectedWritesListener { _, _ in
        registration.withLock { $0 }?.remove()
        call.yield()
      }
      registration.withLock { $0 = added }
      for await _ in calls { break }
      try await waitForCallbacks(of: firestore)
    }
    try await firestore.terminate()

    firestore = try Firestore.open(at: folder, settings: settings)
    _ = listen(to: firestore, as: "second")
    try await write("secret3", to: firestore)
    try await waitForCallbacks(of: firestore)
    #expect(log.lines == ["second: rooms/secret2", "second: rooms/secret3"])
    try await firestore.terminate()
  }

  @Test func everyListenerIsNotifiedUntilItsRemovalEvenFromItsOwnCallback() async throws {
    let firestore = client()
    let registration = Locked<(any ListenerRegistration)?>(nil)
    let first = firestore.addRejectedWritesListener { [log] rejected, _ in
      log.add("first: \(rejected?.write.paths.first ?? "")")
      registration.withLock { $0 }?.remove()
    }
    registration.withLock { $0 = first }
    let second = listen(to: firestore, as: "second")
    try await write("secret1", "secret2", to: firestore)
    try await waitForCallbacks(of: firestore)
    let reported = log.lines
    #expect(reported.filter { $0.hasPrefix("first") } == ["first: rooms/secret1"])
    #expect(reported.filter { $0.hasPrefix("second") } == ["second: rooms/secret1", "second: rooms/secret2"])
    second.remove()
    try await write("secret3", to: firestore)
    try await waitForCallbacks(of: firestore)
    #expect(log.lines == reported)
    try await firestore.terminate()
  }

  @Test func aCancelledWriteIsNotReportedAsRejected() async throws {
    let firestore = client()
    try await firestore.disableNetwork()
    _ = listen(to: firestore, as: "listener")
    try await write("secret1", "open", "secret2", to: firestore)
    for write in try await firestore.pendingWrites().prefix(2) {
      try await firestore.cancelPendingWrite(write.id)
    }
    try await firestore.enableNetwork()
    try await waitForCallbacks(of: firestore)
    #expect(log.lines == ["listener: rooms/secret2"])
    try await firestore.terminate()
  }

  @Test func aRejectionIsReportedBeforeTheCompletionAndTheDocumentsListeners() async throws {
    try authority.commit([.set(DocumentPath(["rooms", "secret"]), StoredMap([("n", .integer(1))]))])
    let firestore = client(.server)
    let secret = firestore.document("rooms/secret")
    let (values, continuation) = AsyncStream.makeStream(of: Int.self)
    secret.addSnapshotListener { [log] snapshot, _ in
      let n = snapshot?["n"] as? Int ?? 0
      log.add("snapshot: \(n)")
      continuation.yield(n)
    }
    firestore.addRejectedWritesListener { [log] _, _ in
      log.add("rejection: \((try? secret.read())?["n"] as? Int ?? 0)")
    }
    var heard = values.makeAsyncIterator()
    #expect(await heard.next() == 1)
    secret.setData(["n": 2]) { [log] error in log.add("completion: \((error as NSError?)?.code ?? 0)") }
    #expect(await heard.next() == 2)
    #expect(await heard.next() == 1)
    #expect(log.lines == ["snapshot: 1", "snapshot: 2", "rejection: 1", "completion: 7", "snapshot: 1"])
    try await firestore.terminate()
  }

  @Test func rejectionsBelongToTheirUser() async throws {
    let firestore = client()
    try await firestore.changeUser("ann")
    try await write("secret1", to: firestore)
    try await firestore.waitForPendingWrites()
    try await firestore.changeUser("bob")
    _ = listen(to: firestore, as: "bob")
    try await write("secret2", to: firestore)
    try await waitForCallbacks(of: firestore)
    #expect(log.lines == ["bob: rooms/secret2"])
    try await firestore.terminate()
  }

  @Test func aLoopReceivesEveryRejectionAndEndsAtTermination() async throws {
    let firestore = client()
    try await firestore.disableNetwork()
    try await write("secret1", "open", "secret2", "secret3", to: firestore)
    let rejections = firestore.rejectedWrites
    try await firestore.enableNetwork()
    try await firestore.waitForPendingWrites()
    var paths: [[String]] = []
    for try await rejected in rejections {
      paths.append(rejected.write.paths)
      if paths.count == 3 { try await firestore.terminate() }
    }
    #expect(paths == [["rooms/secret1"], ["rooms/secret2"], ["rooms/secret3"]])
  }

  @Test func withoutARemoteNoWriteIsRejected() async throws {
    settings.remote = nil
    let firestore = client()
    _ = listen(to: firestore, as: "listener")
    var rejections = firestore.rejectedWrites.makeAsyncIterator()
    try await write("secret", to: firestore)
    try await waitForCallbacks(of: firestore)
    try await firestore.terminate()
    #expect(try await rejections.next() == nil)
    #expect(log.lines.isEmpty)
  }

  @Test func anUnusableDatabaseReportsTheCause() async throws {
    let database = try TestDatabase()
    database.firestore.settings = settings
    let holder = try DocumentStore.open(database.firestore.storeDirectory)
    let events = Events<RejectedWrite>()
    database.firestore.addRejectedWritesListener(events.add)
    #expect((await events.nextError as NSError?)?.code == 14)
    do {
      for try await _ in database.firestore.rejectedWrites { Issue.record("it was opened") }
      Issue.record("the loop ended without the error")
    } catch FirestoreErrorCode.unavailable {}
    try holder.close()
    await database.close()
  }
}
