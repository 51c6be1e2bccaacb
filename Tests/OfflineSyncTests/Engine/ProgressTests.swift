// The progress of the sync, step by step: the connection, and the state of each query.

import DocumentStore
import OfflineSync
import Testing

@Suite struct ProgressTests {
  private let rooms: StructuredQuery
  private let store: DocumentStore
  private let engine: SyncEngine

  init() throws {
    rooms = StructuredQuery(.collection(try CollectionPath(["rooms"])))
    store = try DocumentStore.openInMemory()
    engine = SyncEngine(try LocalStore(store, user: nil, collector: .lru, client: "client"))
  }

  private func watch(_ change: WatchChange, at version: Int64 = 0) throws {
    _ = try engine.handle(.watchChanged(change, SnapshotVersion(microseconds: version)))
  }

  private func send(_ name: String, to target: TargetID, at version: Int64 = 10) throws {
    let document = RemoteDocument(
      DocumentPath(unchecked: ["rooms", name]), StoredMap([("text", .string(name))]),
      version: SnapshotVersion(microseconds: version))
    try watch(.document(document.path, document, updated: [target], removed: []))
  }

  private func listen(_ number: Int = 1, to query: StructuredQuery? = nil) throws -> TargetID {
    _ = try engine.handle(.listen(ListenerID(number), query ?? rooms, ListenRules()))
    return try #require(engine.target(of: query ?? rooms))
  }

  /// The state of the only query.
  private var query: QueryProgressState { get throws { try #require(engine.syncProgress.queries.first) } }

  @Test func aFirstLoadIsCountedUntilTheQueryIsCurrent() throws {
    #expect(engine.syncProgress.connection == .idle && engine.syncProgress.version == .none)
    let target = try listen()
    #expect(engine.syncProgress.connection == .connecting)
    #expect(try query.phase == .waiting)
    _ = try engine.handle(.watchOpened)
    #expect(try query.phase == .waiting)
    try watch(.target(.added, [target]))
    #expect(try query.phase == .loading && query.receivedCount == 0 && query.expectedCount == nil)
    #expect(engine.syncProgress.connection == .connected)
    try send("a", to: target)
    let bytes = try query.receivedBytes
    #expect(try query.receivedCount == 1 && bytes > 0 && query.documentCount == 0)
    try watch(.existenceFilter(target, count: 1, nil))
    #expect(try query.expectedCount == 1)
    try send("b", to: target)
    #expect(try query.receivedBytes == 2 * bytes && query.isResumed == false)
    try watch(.target(.current, [target], resumeToken: [1]))
    #expect(try query.phase == .loading, "no consistent snapshot has come")
    #expect(engine.syncProgress.version == .none)
    try watch(.target(.noChange, [], resumeToken: [1]), at: 20)
    #expect(try query.phase == .current(since: SnapshotVersion(microseconds: 20)))
    #expect(try query.documentCount == 2 && query.isListening && !query.isPinned)
    #expect(engine.syncProgress.version.microseconds == 20)
    // Later changes do not count, and later snapshots advance the version.
    try send("c", to: target, at: 25)
    try watch(.target(.noChange, []), at: 30)
    #expect(try query.receivedCount == 2 && query.documentCount == 3)
    #expect(try query.phase == .current(since: SnapshotVersion(microseconds: 20)))
    #expect(engine.syncProgress.version.microseconds == 30)
  }

  @Test func theVersionStaysWhileTheConnectionIsLostAndAfterARestart() throws {
    let target = try listen()
    _ = try engine.handle(.watchOpened)
    try watch(.target(.added, [target]))
    try watch(.target(.current, [target], resumeToken: [1]))
    try watch(.target(.noChange, [], resumeToken: [1]), at: 20)
    try watch(.target(.noChange, []), at: 30)
    let lost = RemoteError(.unavailable, "no network")
    _ = try engine.handle(.watchClosed(lost))
    #expect(engine.syncProgress.version.microseconds == 30)
    #expect(engine.syncProgress.error == lost && engine.syncProgress.connection == .connecting)
    #expect(try query.phase == .waiting)
    _ = try engine.handle(.watchClosed(lost))
    #expect(engine.syncProgress.connection == .offline)
    _ = try engine.handle(.timer(.watchBackoff))
    _ = try engine.handle(.watchOpened)
    #expect(engine.syncProgress.error == lost, "the remote has not answered yet")
    try watch(.target(.added, [target]))
    #expect(engine.syncProgress.error == nil && engine.syncProgress.connection == .connected)
    #expect(try query.phase == .loading && query.isResumed)
    #expect(engine.syncProgress.version.microseconds == 30)
    // A second query that was never loaded makes the whole incomplete.
    let other = try rooms.limited(to: .first(1))
    _ = try listen(2, to: other)
    #expect(engine.syncProgress.queries.count == 2 && engine.syncProgress.version == .none)
    _ = try engine.handle(.unlisten(ListenerID(2)))
    #expect(engine.syncProgress.version.microseconds == 30)
    _ = try engine.handle(.disableNetwork)
    #expect(try query.phase == .waiting && engine.syncProgress.version.microseconds == 30)

    // The stored version is that of the resume token, which is not later.
    let again = SyncEngine(try LocalStore(store, user: nil, collector: .lru, client: "client"))
    _ = try again.handle(.listen(ListenerID(1), rooms, ListenRules()))
    #expect(again.syncProgress.version.microseconds == 20)
  }

  @Test func theDatabaseIsSyncedUpToTheVersionOfItsOldestQuery() throws {
    let first = try listen(1)
    _ = try engine.handle(.watchOpened)
    try watch(.target(.added, [first]))
    try watch(.target(.current, [first], resumeToken: [1]))
    try watch(.target(.noChange, [], resumeToken: [1]), at: 20)
    _ = try engine.handle(.unlisten(ListenerID(1)))
    let second = try listen(2, to: try rooms.limited(to: .first(1)))
    try watch(.target(.added, [second]))
    try watch(.target(.current, [second], resumeToken: [1]))
    try watch(.target(.noChange, [], resumeToken: [1]), at: 30)
    #expect(engine.syncProgress.version.microseconds == 30)
    // The first query still lacks the changes between the two versions.
    _ = try listen(3)
    #expect(engine.syncProgress.version.microseconds == 20)
  }

  @Test func aTargetThatIsSentAnewStartsFromZero() throws {
    let target = try listen()
    _ = try engine.handle(.watchOpened)
    try watch(.target(.added, [target]))
    try send("a", to: target)
    try watch(.target(.current, [target], resumeToken: [1]))
    try watch(.target(.noChange, [], resumeToken: [1]), at: 20)
    // The remote counts fewer documents than the client has.
    try watch(.existenceFilter(target, count: 0, nil))
    try watch(.target(.noChange, []), at: 30)
    #expect(try query.phase == .waiting && query.version == .none && query.receivedCount == 0)
    try watch(.target(.removed, [target]))
    try watch(.target(.added, [target]))
    #expect(try query.phase == .loading && query.isResumed == false)
    try watch(.target(.current, [target], resumeToken: [2]))
    try watch(.target(.noChange, [], resumeToken: [2]), at: 40)
    #expect(try query.phase == .current(since: SnapshotVersion(microseconds: 40)))
    try watch(.target(.reset, [target]))
    #expect(try query.phase == .loading)
  }

  @Test func theConnectionIsThatOfEitherStream() throws {
    let path = DocumentPath(unchecked: ["rooms", "a"])
    let time = try #require(StoredTimestamp(microseconds: 15))
    _ = try engine.handle(.disableNetwork)
    #expect(engine.syncProgress.connection == .disabled)
    _ = try engine.handle(.write([.set(path, StoredMap())], at: time, nil))
    #expect(engine.syncProgress.pendingCount == 1 && engine.syncProgress.oldest == time)
    _ = try engine.handle(.enableNetwork)
    #expect(engine.syncProgress.connection == .connecting)
    let lost = RemoteError(.unavailable, "no network")
    _ = try engine.handle(.writeClosed(lost))
    _ = try engine.handle(.timer(.writeBackoff))
    #expect(engine.syncProgress.error == lost)
    _ = try engine.handle(.writeClosed(lost))
    #expect(engine.syncProgress.connection == .offline)
    _ = try engine.handle(.timer(.writeBackoff))
    _ = try engine.handle(.writeOpened)
    #expect(engine.syncProgress.connection == .connecting)
    _ = try engine.handle(.handshakeComplete(token: []))
    #expect(engine.syncProgress.connection == .connected && engine.syncProgress.error == nil)
    // A rejected write is no failure of the connection.
    _ = try engine.handle(.writeClosed(RemoteError(.permissionDenied, "no")))
    #expect(engine.syncProgress.error == nil && engine.syncProgress.pendingCount == 0)
  }

  @Test func limboDocumentsAndCacheListenersAreNoQueries() throws {
    let target = try listen()
    _ = try engine.handle(.watchOpened)
    try watch(.target(.added, [target]))
    try send("a", to: target)
    try watch(.target(.current, [target], resumeToken: [1]))
    try watch(.target(.noChange, [], resumeToken: [1]), at: 20)
    try watch(.existenceFilter(target, count: 0, nil))
    try watch(.target(.noChange, []), at: 30)
    try watch(.target(.removed, [target]))
    try watch(.target(.added, [target]))
    try watch(.target(.current, [target], resumeToken: [2]))
    try watch(.target(.noChange, [], resumeToken: [2]), at: 40)
    #expect(engine.activeLimbo.count == 1)
    let cached = try rooms.limited(to: .first(1))
    _ = try engine.handle(.listen(ListenerID(2), cached, ListenRules(isCacheOnly: true)))
    #expect(engine.syncProgress.queries.count == 1)
  }
}
