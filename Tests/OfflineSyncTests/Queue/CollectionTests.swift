// What goes from a cache, and what stays.

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

  /// Has the remote tell a listener of two documents.
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

  @Test func theTimerCollectsWhatNobodyListensToAndStartsAgain() throws {
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

  @Test func whatIsEvictedIsAskedForFromTheStart() throws {
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
}
