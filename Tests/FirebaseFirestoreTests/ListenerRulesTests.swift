// Snapshots for listeners of a database with a remote: contents, order and suppression, rule by rule.
//
// A listener writes one line per snapshot, with the documents and their numbers, the metadata of the
// snapshot, and the changes. A `?` follows documents with pending writes; +, - and * mean added, removed and
// modified. If the next line is as expected, no other snapshot came before it.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

@Suite(.timeLimit(.minutes(2))) struct ListenerRulesTests {
  private let authority: DocumentStore
  private let remote: LoopbackRemote
  private let firestore = Firestore.memory()
  private let story = Story()

  private var rooms: CollectionReference { firestore.collection("rooms") }

  init() throws {
    authority = try DocumentStore.openInMemory()
    remote = try LoopbackRemote(authority: authority)
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = remote
    firestore.settings = settings
  }

  /// Commits changes of other clients at the authority.
  private func commit(_ documents: (id: String, n: Int?)...) throws {
    try authority.commit(
      documents.map { id, n in
        let path = try DocumentPath(["rooms", id])
        return n.map { .set(path, StoredMap([("n", .integer(Int64($0)))])) } ?? .delete(path)
      })
    remote.refresh()
  }

  @discardableResult
  private func listen(
    to query: Query? = nil, _ name: String = "", metadata: Bool = true, from source: ListenSource = .default
  ) -> any ListenerRegistration {
    let options = SnapshotListenOptions().withSource(source).withIncludeMetadataChanges(metadata)
    return (query ?? rooms).addSnapshotListener(options: options) { [story] snapshot, error in
      story.add(name + Self.text(snapshot, error, metadata))
    }
  }

  private static func text(_ snapshot: QuerySnapshot?, _ error: (any Error)?, _ metadata: Bool) -> String {
    guard let snapshot else { return "error \((error as NSError?)?.code ?? 0)" }
    let documents = snapshot.documents.map { document in
      "\(document.documentID)\(document["n"] ?? "")" + (document.metadata.hasPendingWrites ? "?" : "")
    }
    var state: [String] = []
    if snapshot.metadata.isFromCache { state.append("cache") }
    if snapshot.metadata.hasPendingWrites { state.append("pending") }
    let changes = snapshot.documentChanges(includeMetadataChanges: metadata).map { change in
      ["+", "*", "-"][change.type.rawValue] + change.document.documentID
    }
    return [documents, state, changes].map { $0.joined(separator: " ") }.joined(separator: "|")
  }

  // MARK: The first snapshot

  @Test func withAnEmptyCacheTheFirstSnapshotComesFromTheServer() async throws {
    try commit(("a", 1))
    listen()
    #expect(await story.next == "a1||+a")
    try commit(("b", 2))
    #expect(await story.next == "a1 b2||+b")
    try await firestore.terminate()
  }

  @Test func offlineTheFirstSnapshotComesFromTheCacheEvenIfEmpty() async throws {
    try await firestore.disableNetwork()
    listen()
    #expect(await story.next == "|cache|")
    try await firestore.enableNetwork()
    #expect(await story.next == "||")
    try await firestore.terminate()
  }

  @Test func theCachedResultArrivesBeforeTheServerResult() async throws {
    try commit(("a", 1))
    _ = try await rooms.getDocuments(source: .server)
    listen("with ", metadata: true)
    #expect(await story.next == "with a1|cache|+a")
    #expect(await story.next == "with a1||")
    try await firestore.terminate()
  }

  @Test func confirmationsNeedIncludeMetadataChanges() async throws {
    try commit(("a", 1))
    _ = try await rooms.getDocuments(source: .server)
    listen(metadata: false)
    #expect(await story.next == "a1|cache|+a")
    try commit(("b", 2))
    // The metadata are current, although a change of metadata alone triggered no snapshot.
    #expect(await story.next == "a1 b2||+b")
    try await firestore.terminate()
  }

  @Test func aSyncedEmptyQueryGetsItsFirstSnapshotImmediately() async throws {
    #expect(try await rooms.getDocuments(source: .server).isEmpty)
    listen()
    #expect(await story.next == "|cache|")
    #expect(await story.next == "||")
    try await firestore.terminate()
  }

  // MARK: Writes

  @Test func aWriteIsReportedPendingThenAcknowledgedThenConfirmed() async throws {
    listen()
    #expect(await story.next == "||")
    rooms.document("a").setData(["n": 1]) { [story] error in story.add(error == nil ? "done" : "failed") }
    #expect(await story.next == "a1?|pending|+a")
    #expect(await story.next == "done")
    #expect(await story.next == "a1||*a")
    try await firestore.terminate()
  }

  @Test func withoutMetadataChangesAWriteIsReportedOnce() async throws {
    listen(metadata: false)
    #expect(await story.next == "||")
    let confirmed = Story()
    rooms.addSnapshotListener(includeMetadataChanges: true) { snapshot, _ in
      if snapshot?.metadata.hasPendingWrites == false { confirmed.add("\(snapshot?.count ?? -1)") }
    }
    #expect(await confirmed.next == "0")
    try await rooms.document("a").setData(["n": 1])
    #expect(await story.next == "a1?|pending|+a")
    // The remote has accepted the write, but the listeners may not have received the document from the remote
    // yet.
    #expect(await confirmed.next == "1")
    try await rooms.document("b").setData(["n": 2])
    #expect(await story.next == "a1 b2?|pending|+b")
    try await firestore.terminate()
  }

  @Test(arguments: [true, false]) func aServerTimestampIsReportedAfterItIsResolved(metadata: Bool)
    async throws
  {
    let document = rooms.document("a")
    document.addSnapshotListener(includeMetadataChanges: metadata) { [story] snapshot, _ in
      guard let snapshot, snapshot.exists else { return story.add("absent") }
      let value = snapshot["at"].map { $0 is NSNull ? "null" : $0 is Timestamp ? "time" : "odd" }
      story.add("\(value ?? "none") \(snapshot.metadata.hasPendingWrites)")
    }
    #expect(await story.next == "absent")
    try await document.setData(["at": FieldValue.serverTimestamp()])
    #expect(await story.next == "null true")
    #expect(await story.next == "time false")
    try await firestore.terminate()
  }

  @Test func aRejectedWriteFailsItsCompletionAndIsReverted() async throws {
    var rules = LoopbackRules()
    rules.mayWrite = { _, _ in RemoteError(.permissionDenied, "no") }
    try commit(("a", 1))
    remote.setRules(rules)
    listen()
    #expect(await story.next == "a1||+a")
    rooms.document("a").updateData(["n": 2]) { [story] error in
      story.add("failed \((error as NSError?)?.code ?? 0)")
    }
    #expect(await story.next == "a2?|pending|*a")
    #expect(await story.next == "failed 7")
    #expect(await story.next == "a1||*a")
    try await firestore.terminate()
  }

  @Test func aPendingDeletionReportsNoPendingWrites() async throws {
    try commit(("a", 1))
    let document = rooms.document("a")
    document.addSnapshotListener(includeMetadataChanges: true) { [story] snapshot, _ in
      story.add("\(snapshot?.exists ?? false) \(snapshot?.metadata.hasPendingWrites ?? true)")
    }
    #expect(await story.next == "true false")
    try await firestore.disableNetwork()
    #expect(await story.next == "true false")
    document.delete { _ in }
    #expect(await story.next == "false false")
    try await firestore.terminate()
  }

  @Test func documentChangesListRemovalsThenAdditionsThenModifications() async throws {
    try commit(("a", 1), ("b", 2), ("c", 3))
    listen(to: rooms.order(by: "n"))
    #expect(await story.next == "a1 b2 c3||+a +b +c")
    try commit(("a", 9), ("b", nil), ("d", 0), ("e", 5))
    #expect(await story.next == "d0 c3 e5 a9||-b +d +e *a")
    try await firestore.terminate()
  }

  @Test func aDocumentLeavingALimitedQueryIsReplacedInTheSameSnapshot() async throws {
    try commit(("a", 1), ("b", 2), ("c", 3))
    listen(to: rooms.order(by: "n").limit(to: 2))
    #expect(await story.next == "a1 b2||+a +b")
    try commit(("a", 9))
    #expect(await story.next == "b2 c3||-a +c")
    try await firestore.terminate()
  }

  @Test func identicalStatesAreReportedOnce() async throws {
    try commit(("a", 1))
    listen()
    #expect(await story.next == "a1||+a")
    try authority.commit([.set(try DocumentPath(["elsewhere", "x"]), StoredMap())])
    try commit(("a", 1))
    remote.refresh()
    try commit(("a", 2))
    #expect(await story.next == "a2||*a")
    try await firestore.terminate()
  }

  // MARK: The network

  @Test func connectivityChangesNeedIncludeMetadataChanges() async throws {
    try commit(("a", 1))
    listen("with ", metadata: true)
    #expect(await story.next == "with a1||+a")
    listen("without ", metadata: false)
    #expect(await story.next == "without a1||+a")
    try await firestore.disableNetwork()
    #expect(await story.next == "with a1|cache|")
    try await firestore.enableNetwork()
    #expect(await story.next == "with a1||")
    try await firestore.terminate()
  }

  @Test func aBrokenConnectionIsNotAnError() async throws {
    try commit(("a", 1))
    listen(metadata: false)
    #expect(await story.next == "a1||+a")
    remote.setReachable(false)
    remote.setReachable(true)
    try commit(("b", 2))
    #expect(await story.next == "a1 b2||+b")
    try await firestore.terminate()
  }

  @Test func aRefusalIsReportedOnceAndEndsTheListenerButKeepsTheCache() async throws {
    try commit(("a", 1))
    _ = try await rooms.getDocuments(source: .server)
    var rules = LoopbackRules()
    rules.mayRead = { _, _ in RemoteError(.permissionDenied, "no") }
    remote.setRules(rules)
    listen("refused ")
    #expect(await story.next == "refused a1|cache|+a")
    #expect(await story.next == "refused error 7")
    remote.setRules(LoopbackRules())
    #expect(try await rooms.getDocuments(source: .cache).documents.map(\.documentID) == ["a"])
    listen("again ")
    #expect(await story.next == "again a1|cache|+a")
    #expect(await story.next == "again a1||")
    // If the refused listener were still registered, it would receive this change too.
    try commit(("b", 2))
    #expect(await story.next == "again a1 b2||+b")
    try await firestore.terminate()
  }

  @Test func aRefusedQueryThrowsFromTheSnapshotLoop() async throws {
    var rules = LoopbackRules()
    rules.mayRead = { _, _ in RemoteError(.permissionDenied, "no") }
    remote.setRules(rules)
    do {
      for try await _ in rooms.snapshots {}
      Issue.record("the loop ended without the error")
    } catch FirestoreErrorCode.permissionDenied {}
    try await firestore.terminate()
  }

  // MARK: Several listeners

  @Test func aLateListenerGetsTheCurrentSnapshotWithoutARoundTrip() async throws {
    try commit(("a", 1))
    listen("early ")
    #expect(await story.next == "early a1||+a")
    var faults = LoopbackFaults()
    faults.latency = 3_600_000_000...3_600_000_000
    remote.setFaults(faults)
    listen("late ")
    #expect(await story.next == "late a1||+a")
    try await firestore.terminate()
  }

  @Test func oneRemoteEventNotifiesAllListenersAndThenReportsSync() async throws {
    try commit(("a", 1))
    listen("one ")
    #expect(await story.next == "one a1||+a")
    listen(to: rooms.order(by: "n"), "two ")
    // The cached result comes first, unless the server was faster.
    while await !story.next.hasPrefix("two a1||") {}
    let registration = firestore.addSnapshotsInSyncListener { [story] in story.add("in sync") }
    #expect(await story.next == "in sync")
    try commit(("a", 2))
    let reports = [await story.next, await story.next]
    #expect(Set(reports) == ["one a2||*a", "two a2||*a"])
    #expect(await story.next == "in sync")
    // This document matches no listener, so it triggers neither a snapshot nor an in-sync event.
    try authority.commit([.set(try DocumentPath(["elsewhere", "x"]), StoredMap())])
    remote.refresh()
    try commit(("b", 3))
    let last = [await story.next, await story.next]
    #expect(Set(last) == ["one a2 b3||+b", "two a2 b3||+b"])
    #expect(await story.next == "in sync")
    registration.remove()
    try commit(("b", nil))
    let end = [await story.next, await story.next]
    #expect(Set(end) == ["one a2||-b", "two a2||-b"])
    try await firestore.terminate()
  }

  @Test func aRemovedListenerGetsNoMoreSnapshots() async throws {
    let own = Held()
    // The registration is stored before any callback can run.
    firestore.settings.dispatchQueue.sync {
      own.set(
        rooms.addSnapshotListener { [story] snapshot, _ in
          own.remove()
          own.remove()
          story.add("own \(snapshot?.count ?? -1)")
        })
    }
    #expect(await story.next == "own 0")
    listen("other ", metadata: false)
    #expect(await story.next == "other |cache|")
    try commit(("a", 1))
    #expect(await story.next == "other a1||+a")
    try await firestore.terminate()
  }

  @Test func aListenerMayWriteReadAndListen() async throws {
    let (rooms, story) = (rooms, story)
    rooms.addSnapshotListener { snapshot, _ in
      guard let count = snapshot?.count, count < 3 else { return story.add("three") }
      rooms.document("\(count)").setData(["n": count])
      story.add("read \((try? rooms.read().count) ?? -1)")
      if count == 0 { rooms.document("0").addSnapshotListener { _, _ in story.add("nested") } }
    }
    var lines: [String] = []
    while lines.last != "three" { lines.append(await story.next) }
    #expect(lines.filter { $0.hasPrefix("read") } == ["read 1", "read 2", "read 3"])
    #expect(lines.contains("nested"))
    try await firestore.terminate()
  }

  // MARK: Sources

  @Test func aCacheListenerReportsCacheChangesAndNeverConnects() async throws {
    try commit(("a", 1))
    listen("cache ", from: .cache)
    #expect(await story.next == "cache |cache|")
    rooms.document("b").setData(["n": 2], completion: nil)
    #expect(await story.next == "cache b2?|cache pending|+b")
    // While another listener watches the server, results from the server also update the cache listener.
    let other = listen("server ")
    var synced = Set<Substring>()
    while synced.count < 2 {
      let line = await story.next
      if line.contains("a1 b2||") { synced.insert(line.prefix { $0 != " " }) }
    }
    other.remove()
    rooms.document("c").setData(["n": 3], completion: nil)
    var next = await story.next
    while !next.contains("+c") { next = await story.next }
    #expect(next == "cache a1 b2 c3?|cache pending|+c")
    try await firestore.terminate()
  }
}

/// The received lines, in order.
private final class Story: Sendable {
  private let stream: AsyncStream<String>
  private let continuation: AsyncStream<String>.Continuation

  init() { (stream, continuation) = AsyncStream.makeStream() }

  func add(_ line: String) { continuation.yield(line) }

  var next: String {
    get async {
      var iterator = stream.makeAsyncIterator()
      return await iterator.next() ?? "the end"
    }
  }
}

/// A registration that its own listener removes.
private final class Held: Sendable {
  private let lock = NSLock()
  private nonisolated(unsafe) var registration: (any ListenerRegistration)?

  func set(_ registration: any ListenerRegistration) { lock.withLock { self.registration = registration } }

  func remove() { lock.withLock { registration }?.remove() }
}
