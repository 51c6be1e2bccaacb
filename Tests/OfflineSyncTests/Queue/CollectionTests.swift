// The documents that a cache evicts, and the documents that it keeps.

import DocumentStore
import OfflineSync
import Testing

@Suite struct CollectionTests {
  private let rooms: StructuredQuery
  private let engine: SyncEngine

  init() throws {
    rooms = StructuredQuery(.collection(try CollectionPath(["rooms"])))
    let store = try DocumentStore.openInMemory()
    var options = SyncEngine.Options()
    options.cacheBytesMax = 0
    engine = SyncEngine(try LocalStore(store, user: nil, collector: .lru, client: "client"), options)
  }

  /// Lets the remote send two documents to a listener.
  private func hear() throws -> ListenerID {
    let id = ListenerID(1)
    _ = try engine.handle(.listen(id, rooms, ListenRules()))
    let target = try #require(engine.target(of: rooms))
    _ = try engine.handle(.watchOpened)
    _ = try engine.handle(.watchChanged(.target(.added, [target]), .none))
    for name in ["a", "b"] {
      let document = RemoteDocument(
        try DocumentPath(["rooms", name]), StoredMap(), version: SnapshotVersion(microseconds: 10))
      _ = try engine.handle(
        .watchChanged(.document(document.path, document, updated: [target], removed: []), .none))
    }
    _ = try engine.handle(.watchChanged(.target(.current, [target], resumeToken: [1]), .none))
    _ = try engine.handle(
      .watchChanged(.target(.noChange, [], resumeToken: [1]), SnapshotVersion(microseconds: 20)))
    return id
  }

  @Test func theTimerEvictsDocumentsWithoutListenersAndIsRestarted() throws {
    let started = try engine.start()
    #expect(started.contains { if case .startTimer(.collection, _) = $0 { true } else { false } })
    let id = try hear()
    for _ in 0..<20 { _ = try engine.handle(.timer(.collection)) }
    #expect(try engine.local.documents(rooms).count == 2, "a listener sees them")
    _ = try engine.handle(.unlisten(id))
    var isTimerStarted = false
    for _ in 0..<20 {
      for effect in try engine.handle(.collect(threshold: 0, percentile: 100))
        + engine.handle(.timer(.collection))
      {
        if case .startTimer(.collection, _) = effect { isTimerStarted = true }
      }
    }
    #expect(isTimerStarted)
    #expect(try engine.local.documents(rooms).isEmpty)
  }

  /// The records would be the oldest ones at each collection, which would then remove nothing.
  @Test func aCollectionRemovesTheRecordsOfDocumentsThatATargetHas() throws {
    _ = try engine.handle(.unlisten(try hear()))
    let store = engine.local.store
    func recordCount() throws -> Int {
      try store.documents(StructuredQuery(.collection(CollectionPath(unchecked: ["__orphans__"])))).count
    }
    // A later process does not have the documents of the target in memory.
    let later = SyncEngine(try LocalStore(store, user: nil, collector: .lru, client: "client"))
    let path = try DocumentPath(["rooms", "a"])
    let time = try #require(StoredTimestamp(microseconds: 25))
    _ = try later.handle(.write([.set(path, StoredMap())], at: time, nil))
    let batch = try #require(later.local.queue.batches(about: path).first)
    let version = SnapshotVersion(microseconds: 30)
    _ = try later.local.acknowledge(batch.id, version, results: [WriteResult(version: version)], token: [])
    #expect(try recordCount() == 1)
    _ = try later.handle(.listen(ListenerID(2), rooms, ListenRules()))
    _ = try later.handle(.collect(threshold: 0, percentile: 100))
    #expect(try recordCount() == 0)
    #expect(try later.local.documents(rooms).count == 2)
  }

  @Test func evictedDocumentsAreRequestedWithoutAResumeToken() throws {
    let time = try #require(StoredTimestamp(microseconds: 15))
    let id = try hear()
    #expect(try engine.evict(rooms, before: time) == 0, "a listener sees them")
    _ = try engine.handle(.unlisten(id))
    let path = try DocumentPath(["rooms", "a"])
    _ = try engine.handle(.write([.set(path, StoredMap())], at: time, nil))
    #expect(try engine.evict(rooms, before: time) == 1, "a write of the other is pending")
    #expect(try engine.local.documents(rooms).map(\.path) == [path])
    let effects = try engine.handle(.listen(ListenerID(2), rooms, ListenRules()))
    let tokens = effects.compactMap { if case .watch(let target) = $0 { target.resumeToken } else { nil } }
    #expect(tokens == [[]])
  }

  @Test func cacheCollectionAboveItsBudgetEvictsTheLeastRecentlyUsed() throws {
    let first = try rooms.filtered(by: .field(StoredFieldPath(["n"]), .equal, .integer(1)))
    let second = try rooms.filtered(by: .field(StoredFieldPath(["n"]), .equal, .integer(2)))
    try hear(first, as: 1, ["a", "b"], n: 1)
    try hear(second, as: 2, ["c", "d"], n: 2)
    _ = try engine.handle(.unlisten(ListenerID(1)))
    let paths = { try engine.local.documents(rooms).map(\.path.id) }
    let bytes = try engine.local.store.records(rooms).map(\.byteCount)
    let collection = try CollectionPath(["rooms"])
    func shrink(to bytesMax: Int) throws {
      _ = try engine.enforceBudgets([collection: UInt64(bytesMax)])
    }
    try shrink(to: bytes.reduce(0, +))
    #expect(try paths() == ["a", "b", "c", "d"])
    try shrink(to: bytes.reduce(0, +) - 1)
    #expect(try paths().count == 3 && paths().suffix(2) == ["c", "d"], "one without a listener is gone")
    try shrink(to: 0)
    #expect(try paths() == ["c", "d"], "a listener sees them")
    _ = try engine.handle(.unlisten(ListenerID(2)))
    let time = try #require(StoredTimestamp(microseconds: 15))
    _ = try engine.handle(
      .write([.set(DocumentPath(unchecked: ["rooms", "c"]), StoredMap())], at: time, nil))
    try shrink(to: 0)
    #expect(try paths() == ["c"], "a write of it is pending")
  }

  private func hear(_ query: StructuredQuery, as id: Int, _ names: [String], n: Int64) throws {
    _ = try engine.handle(.listen(ListenerID(id), query, ListenRules()))
    let target = try #require(engine.target(of: query))
    _ = try engine.handle(.watchOpened)
    _ = try engine.handle(.watchChanged(.target(.added, [target]), .none))
    for name in names {
      let document = RemoteDocument(
        DocumentPath(unchecked: ["rooms", name]), StoredMap([("n", .integer(n))]),
        version: SnapshotVersion(microseconds: 10))
      _ = try engine.handle(
        .watchChanged(.document(document.path, document, updated: [target], removed: []), .none))
    }
    _ = try engine.handle(.watchChanged(.target(.current, [target], resumeToken: [1]), .none))
    _ = try engine.handle(
      .watchChanged(.target(.noChange, [], resumeToken: [1]), SnapshotVersion(microseconds: 20 + Int64(id))))
  }

  /// A remote may send a document that has changed and is not in the target.
  @Test func aDocumentThatTheRemoteSendsOutsideOfItsTargetIsCollected() throws {
    _ = try engine.handle(.listen(ListenerID(1), rooms, ListenRules()))
    let target = try #require(engine.target(of: rooms))
    _ = try engine.handle(.watchOpened)
    _ = try engine.handle(.watchChanged(.target(.added, [target]), .none))
    let outside = DocumentPath(unchecked: ["halls", "a"])
    let document = RemoteDocument(outside, StoredMap(), version: SnapshotVersion(microseconds: 10))
    _ = try engine.handle(
      .watchChanged(.document(outside, document, updated: [], removed: [target]), .none))
    _ = try engine.handle(.watchChanged(.target(.current, [target], resumeToken: [1]), .none))
    _ = try engine.handle(
      .watchChanged(.target(.noChange, [], resumeToken: [1]), SnapshotVersion(microseconds: 20)))
    #expect(try engine.local.document(outside).isFound)
    _ = try engine.handle(.collect(threshold: 0, percentile: 100))
    #expect(try !engine.local.document(outside).isFound)
  }

  // MARK: After a restart

  private let path = DocumentPath(unchecked: ["rooms", "a"])

  private func reopened(_ local: LocalStore) throws -> LocalStore {
    try LocalStore(local.store, user: nil, collector: .lru, client: "client")
  }

  /// Reports that a view of a target has the document.
  private func see(_ path: DocumentPath, _ target: TargetID, _ local: LocalStore) throws {
    try local.note([LocalStore.ViewReport(id: target, added: [path], removed: [], isFromCache: true)])
  }

  /// Returns the documents in the cache after a collection of everything.
  private func kept(_ local: LocalStore, active: Set<TargetID> = []) throws -> [DocumentPath] {
    _ = try local.collect(threshold: 0, percentile: 100, active: active)
    return try local.documents(rooms).map(\.path)
  }

  /// The remote has accepted the write, and its watch stream has not brought the document yet.
  @Test func aDocumentThatOnlyAViewHoldsIsCollectedAfterARestart() throws {
    let local = engine.local
    let target = try local.allocate(rooms).id
    let batch = try local.write([.set(path, StoredMap())], at: try #require(StoredTimestamp(microseconds: 5)))
    try see(path, target, local)
    let version = SnapshotVersion(microseconds: 10)
    _ = try local.acknowledge(
      batch.batch.id, version, results: [WriteResult(version: version)], token: [])
    #expect(try kept(local, active: [target]) == [path], "a view has it")
    #expect(try kept(reopened(local)) == [])
  }

  @Test func aDocumentThatAViewHeldAtACollectionIsCollectedAfterARestart() throws {
    let local = engine.local
    let (old, seen) = (try local.allocate(StructuredQuery(.document(path))).id, try local.allocate(rooms).id)
    _ = try local.apply(event(adding: path, to: old))
    try see(path, seen, local)
    #expect(try kept(local, active: [seen]) == [path], "a view has it")
    #expect(try kept(reopened(local)) == [])
  }

  // MARK: The eager collector

  private func event(adding path: DocumentPath, to target: TargetID) -> RemoteEvent {
    let version = SnapshotVersion(microseconds: 10)
    var change = TargetChange(resumeToken: [1], isCurrent: true)
    change.added = [path]
    var event = RemoteEvent(version: version)
    event.targetChanges[target] = change
    event.documents[path] = RemoteDocument(path, StoredMap(), version: version).synced
    return event
  }

  /// The target resumes from its token, so the remote would not send the document again.
  @Test func anEagerCollectorKeepsTheDocumentsOfATargetThatAnEarlierProcessHasLeft() throws {
    let path = try DocumentPath(["rooms", "a"])
    let store = try DocumentStore.openInMemory()
    let first = try LocalStore(store, user: nil, collector: .eager, client: "client")
    _ = try first.apply(event(adding: path, to: try first.allocate(rooms).id))
    let second = try LocalStore(store, user: nil, collector: .eager, client: "client")
    let other = try second.allocate(StructuredQuery(.document(path)))
    _ = try second.apply(event(adding: path, to: other.id))
    try second.release(other.id)
    #expect(try second.allocate(rooms).resumeToken == [1])
    #expect(try second.documents(rooms).map(\.path) == [path])
  }
}
