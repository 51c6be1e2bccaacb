// Listeners whose query needs a new index: which calls wait for the index, the first snapshots, and removal.

import Authority
import DocumentStore
import Foundation
import OfflineSync
import Testing

@testable import FirebaseFirestore

@Suite(.timeLimit(.minutes(2))) struct ListenerIndexTests {
  private let queue = DispatchQueue(label: "dugout.test.callbacks")

  /// Creates enough documents for a query to need an index. If the database has a remote, the remote is
  /// unreachable, and writes do not wait for it.
  private func filled(hasRemote: Bool) async throws -> Firestore {
    let firestore = Firestore.memory()
    let settings = FirestoreSettings()
    settings.dispatchQueue = queue
    if hasRemote {
      settings.remote = try LoopbackRemote(authority: try DocumentStore.openInMemory())
      settings.acknowledgement = .local
    }
    firestore.settings = settings
    try await firestore.disableNetwork()
    let batch = firestore.batch()
    for n in 0..<300 { batch.setData(["n": n, "m": n % 10], forDocument: firestore.document("a/\(n)")) }
    try await batch.commit()
    return firestore
  }

  private func needy(_ firestore: Firestore) -> Query {
    firestore.collection("a").whereField("m", isEqualTo: 3).order(by: "n")
  }

  /// Returns once all earlier listeners have been registered, or have been handed over to the index builder.
  private func passes(_ firestore: Firestore) async {
    let events = Events<DocumentSnapshot>()
    let registration = firestore.document("a/0").addSnapshotListener(events.add)
    _ = await events.next
    registration.remove()
  }

  /// Returns once all callbacks that are already queued have run.
  private func waitForCallbacks() async {
    await withCheckedContinuation { done in queue.async { done.resume() } }
  }

  @Test(arguments: [false, true]) func callsThatNeedNoIndexDoNotWaitForAnIndexBuild(hasRemote: Bool)
    async throws
  {
    let firestore = try await filled(hasRemote: hasRemote)
    let held = try HeldBuild(in: firestore)
    let (slow, quick, notifications) = (Events<QuerySnapshot>(), Events<DocumentSnapshot>(), Counter())
    needy(firestore).addSnapshotListener { snapshot, error in
      notifications.add()
      slow.add(snapshot, error)
    }
    firestore.document("a/3").addSnapshotListener(quick.add)
    let before = await quick.next
    #expect(before?["n"] as? Int == 3)
    try await firestore.document("a/3").setData(["n": -1, "m": 3])
    let after = await quick.next
    #expect(after?["n"] as? Int == -1)
    // If this call waited for the unreachable remote, it would not return.
    if !hasRemote { try await firestore.waitForPendingWrites() }
    #expect(try await firestore.document("a/3").getDocument(source: .cache)["n"] as? Int == -1)
    #expect(!held.isReleased, "a query waited for an index that only another one needs")
    #expect(notifications.count == 0)
    held.release()
    let first = await slow.next
    #expect(first?.count == 30)
    #expect(first?.documents.first?["n"] as? Int == -1)
    try await firestore.terminate()
  }

  @Test(arguments: [false, true]) func theFirstSnapshotIncludesEarlierWritesAndArrivesOnce(hasRemote: Bool)
    async throws
  {
    let firestore = try await filled(hasRemote: hasRemote)
    let held = try HeldBuild(in: firestore)
    let (events, notifications) = (Events<QuerySnapshot>(), Counter())
    // The test does not wait for this write. It is enough that the write is issued before the listener is
    // added.
    firestore.document("a/before").setData(["n": 1000, "m": 3], completion: nil)
    needy(firestore).addSnapshotListener { snapshot, error in
      notifications.add()
      events.add(snapshot, error)
    }
    try await firestore.document("a/meanwhile").setData(["n": 1001, "m": 3])
    #expect(!held.isReleased, "a write waited for an index")
    held.release()
    let first = await events.next
    #expect(first?.documents.suffix(2).map(\.documentID) == ["before", "meanwhile"])
    #expect(first?.documentChanges.count == 32)
    try await firestore.document("a/after").setData(["n": 1002, "m": 3])
    let second = await events.next
    #expect(second?.count == 33)
    #expect(second?.documentChanges.map(\.document.documentID) == ["after"])
    await waitForCallbacks()
    #expect(notifications.count == 2)
    try await firestore.terminate()
  }

  @Test(arguments: [false, true]) func concurrentQueriesBuildASharedIndexOnce(hasRemote: Bool) async throws {
    let firestore = try await filled(hasRemote: hasRemote)
    let held = try HeldBuild(in: firestore)
    let all = (0..<3).map { _ in Events<QuerySnapshot>() }
    needy(firestore).addSnapshotListener(all[0].add)
    needy(firestore).addSnapshotListener(all[1].add)
    needy(firestore).limit(to: 5).addSnapshotListener(all[2].add)
    await passes(firestore)
    #expect(!held.isReleased)
    held.release()
    var counts: [Int?] = []
    for events in all { counts.append(await events.next?.count) }
    #expect(counts == [30, 30, 5])
    let built = held.store.indexList.map(\.definition)
    #expect(built.count == 1)
    let documentsRead = held.documentsRead
    for definition in built { held.store.dropIndex(definition) }
    _ = try await needy(firestore).getDocuments(source: .cache)
    #expect(held.documentsRead >= 2 * documentsRead, "once more is not twice as much")
    try await firestore.terminate()
  }

  @Test(arguments: [false, true]) func aListenerRemovedEarlyIsNotNotifiedAndBuildsNoIndex(hasRemote: Bool)
    async throws
  {
    let firestore = try await filled(hasRemote: hasRemote)
    let held = try HeldBuild(in: firestore)
    let notifications = Counter()
    let registration = needy(firestore).addSnapshotListener { _, _ in notifications.add() }
    await passes(firestore)
    registration.remove()
    #expect(!held.isReleased)
    held.release()
    // Waits until the index builder has dropped the build that is no longer needed.
    let indexes = try #require(firestore.client().store.openView).indexes
    await withCheckedContinuation { done in indexes.async { done.resume() } }
    await waitForCallbacks()
    #expect(notifications.count == 0)
    #expect(held.store.indexList.isEmpty && held.documentsRead == 0)
    let events = Events<QuerySnapshot>()
    needy(firestore).addSnapshotListener(events.add)
    #expect(await events.next?.count == 30)
    try await firestore.terminate()
  }

  @Test(arguments: [false, true]) func terminationEndsTheIndexBuild(hasRemote: Bool) async throws {
    let firestore = try await filled(hasRemote: hasRemote)
    let held = try HeldBuild(in: firestore)
    let notifications = Counter()
    needy(firestore).addSnapshotListener { _, _ in notifications.add() }
    await passes(firestore)
    #expect(!held.isReleased)
    await withCheckedContinuation { done in
      firestore.terminate { _ in done.resume() }
      held.release()
    }
    await waitForCallbacks()
    #expect(notifications.count == 0)
    #expect(held.store.indexList.isEmpty && held.documentsRead == 0)
  }

  /// A registration may reach a database that has terminated in the meantime.
  @Test func aListenerAddedAfterTerminationIsRemovedImmediately() async throws {
    let firestore = try await filled(hasRemote: false)
    let client = firestore.client()
    try await firestore.terminate()
    let notifications = Counter()
    let query = StructuredQuery(.collection(try CollectionPath(["a"])))
    let listening = client.listen(
      to: .success(query), ListenRules(), on: queue,
      making: SnapshotMaker(live: { _ in 1 }, viewed: { _ in 1 })
    ) { (_: Result<Int, any Error>) in notifications.add() }
    #expect(listening.isRemoved)
    await waitForCallbacks()
    #expect(notifications.count == 0)
  }

  @Test func withARemoteAnIndexBuildBlocksNoOtherCall() async throws {
    let firestore = try await filled(hasRemote: true)
    let held = try HeldBuild(in: firestore)
    let (slow, quick) = (Events<QuerySnapshot>(), Events<DocumentSnapshot>())
    needy(firestore).getDocuments(source: .cache, completion: slow.add)
    let query = needy(firestore)
    async let found = query.getDocuments(source: .cache).count
    // The document is requested after the queries that need the index.
    firestore.document("a/3").getDocument(source: .cache, completion: quick.add)
    let document = await quick.next
    #expect(document?["n"] as? Int == 3)
    try await firestore.document("a/3").setData(["n": -1, "m": 3])
    #expect(!held.isReleased, "a query waited for an index that only another one needs")
    held.release()
    #expect(await slow.next?.count == 30)
    #expect(try await found == 30)
    try await firestore.terminate()
  }
}
