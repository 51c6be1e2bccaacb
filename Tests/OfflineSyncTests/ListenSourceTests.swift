// Listeners of one query: some receive the remote's result, and some read only the cache.

import DocumentStore
import OfflineSync
import Testing

@Suite struct ListenSourceTests {
  private let rooms: StructuredQuery
  private let engine: SyncEngine
  private let path = DocumentPath(unchecked: ["rooms", "a"])

  init() throws {
    rooms = StructuredQuery(.collection(try CollectionPath(["rooms"])))
    engine = SyncEngine(
      try LocalStore(try DocumentStore.openInMemory(), user: nil, collector: .lru, client: "client"))
  }

  private func snapshots(_ effects: [SyncEffect], _ id: ListenerID) -> [ViewSnapshot] {
    effects.compactMap { if case .notify(id, let snapshot) = $0 { snapshot } else { nil } }
  }

  private func unwatched(_ effects: [SyncEffect]) -> [TargetID] {
    effects.compactMap { if case .unwatch(let id) = $0 { id } else { nil } }
  }

  /// The remote sends the whole result: one document.
  private func confirm(_ target: TargetID, at version: Int64) throws -> [SyncEffect] {
    let document = RemoteDocument(path, StoredMap(), version: SnapshotVersion(microseconds: version))
    var effects: [SyncEffect] = []
    for change in [
      WatchChange.target(.added, [target]), .document(path, document, updated: [target], removed: []),
      .target(.current, [target], resumeToken: [1]),
    ] {
      effects += try engine.handle(.watchChanged(change, .none))
    }
    let version = SnapshotVersion(microseconds: version)
    return effects + (try engine.handle(.watchChanged(.target(.noChange, [], resumeToken: [1]), version)))
  }

  private func write(_ name: String) throws -> [SyncEffect] {
    let time = try #require(StoredTimestamp(microseconds: 15))
    let path = DocumentPath(unchecked: ["rooms", name])
    return try engine.handle(.write([.set(path, StoredMap())], at: time, nil))
  }

  @Test func withoutARemoteListenerCacheListenersSeeTheCache() throws {
    let (asks, cache, late) = (ListenerID(1), ListenerID(2), ListenerID(3))
    let rules = ListenRules(includesMetadataChanges: true)
    let cacheRules = ListenRules(includesMetadataChanges: true, isCacheOnly: true)
    _ = try engine.handle(.listen(asks, rooms, rules))
    let target = try #require(engine.target(of: rooms))
    _ = try engine.handle(.watchOpened)
    _ = try confirm(target, at: 10)
    let first = snapshots(try engine.handle(.listen(cache, rooms, cacheRules)), cache)
    #expect(first.map(\.isFromCache) == [false], "a caller asks the remote, and it has sent all")

    let effects = try engine.handle(.unlisten(asks))
    #expect(unwatched(effects) == [target])
    #expect(snapshots(try write("b"), cache).map(\.isFromCache) == [true])
    #expect(snapshots(try engine.handle(.listen(late, rooms, cacheRules)), late).map(\.isFromCache) == [true])
    #expect(try engine.brokenInvariant() == nil)

    // A new listener that needs the remote causes the target to be watched again.
    let again = try engine.handle(.listen(ListenerID(4), rooms, rules))
    #expect(again.contains { if case .watch(let asked) = $0 { asked.id == target } else { false } })
    _ = try engine.handle(.watchChanged(.target(.removed, [target]), .none))
    #expect(snapshots(try confirm(target, at: 20), cache).last?.isFromCache == false)
  }

  /// A query and its mirror image share one target. The target is watched as long as at least one of the two
  /// queries has a listener that needs the remote.
  @Test func aCacheOnlyMirroredQueryDoesNotKeepTheTargetWatched() throws {
    let first = try rooms.ordered(by: OrderBy(StoredFieldPath(unchecked: ["n"]), .ascending))
    let (query, mirror) = (
      try first.limited(to: .first(2)),
      try rooms.ordered(by: OrderBy(StoredFieldPath(unchecked: ["n"]), .descending)).limited(to: .last(2))
    )
    _ = try engine.handle(.listen(ListenerID(1), query, ListenRules()))
    _ = try engine.handle(.listen(ListenerID(2), mirror, ListenRules(isCacheOnly: true)))
    let target = try #require(engine.target(of: query))
    #expect(engine.target(of: mirror) == target)
    _ = try engine.handle(.watchOpened)
    #expect(unwatched(try engine.handle(.unlisten(ListenerID(1)))) == [target])
    #expect(unwatched(try engine.handle(.unlisten(ListenerID(2)))) == [])
    #expect(engine.target(of: mirror) == nil)
  }
}
