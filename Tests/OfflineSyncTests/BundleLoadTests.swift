// Bundles in a client's cache.

import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct BundleLoadTests {
  private let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))

  private func path(_ name: String) -> DocumentPath { DocumentPath(unchecked: ["rooms", name]) }

  private func bundle(_ names: [String], at microseconds: Int64) throws -> BundleContents {
    let time = try #require(StoredTimestamp(microseconds: microseconds))
    var bundle = BundleContents(id: "b", createTime: time)
    for name in names {
      bundle.documents.append(
        BundledDocument(
          path: path(name), fields: StoredMap(), version: time, byteCount: 1, queries: ["all"]))
    }
    bundle.queries = [BundledQuery(name: "all", text: "", query: rooms, readTime: time)]
    return bundle
  }

  @Test(arguments: [LocalStore.Collector.lru, .eager])
  func aBundledQueryIsCompleteUpToItsReadTime(_ collector: LocalStore.Collector) throws {
    let local = try LocalStore(
      try DocumentStore.openInMemory(), user: nil, collector: collector, client: "client")
    let engine = SyncEngine(local)
    _ = try engine.handle(.load(try bundle(["a", "b"], at: 1000)))
    #expect(try local.documents(rooms).map(\.path.id) == ["a", "b"], "the bundle holds them")

    let effects = try engine.handle(.listen(ListenerID(1), rooms, ListenRules(includesMetadataChanges: true)))
    let snapshots = effects.compactMap { if case .notify(_, let snapshot) = $0 { snapshot } else { nil } }
    #expect(snapshots.map(\.documents.count) == [2] && snapshots.first?.isFromCache == true)
    let asked = try engine.handle(.watchOpened).compactMap {
      if case .watch(let target) = $0 { target } else { nil }
    }
    #expect(asked.map(\.resumeToken) == [[]])
    #expect(asked.map(\.readTime) == [SnapshotVersion(microseconds: 1000)])
    // The engine already has the bundle's documents, so they do not enter limbo.
    let target = try #require(engine.target(of: rooms))
    _ = try engine.handle(.watchChanged(.target(.added, [target]), .none))
    _ = try engine.handle(.watchChanged(.target(.current, [target], resumeToken: [1]), .none))
    let last = try engine.handle(
      .watchChanged(.target(.noChange, [], resumeToken: [1]), SnapshotVersion(microseconds: 2000)))
    #expect(last.contains { if case .notify(_, let snapshot) = $0 { !snapshot.isFromCache } else { false } })
    #expect(engine.activeLimbo.isEmpty)
  }

  /// Time 0 means a pending write or unknown content, so it cannot be a document's version.
  @Test func versionZeroInABundleIsNeitherPendingNorARevert() throws {
    let local = try LocalStore(
      try DocumentStore.openInMemory(), user: nil, collector: .lru, client: "client")
    let engine = SyncEngine(local)
    _ = try engine.handle(.load(try bundle(["a"], at: 0)))
    #expect(try local.documents(rooms).map(\.pending) == [.none])
    #expect(try local.document(path("a")).pending == .none)
    #expect(try local.store.document(at: path("a"))?.isPending == false)

    _ = try engine.handle(.load(try bundle(["b"], at: 1000)))
    var gone = try bundle([], at: 0)
    gone.documents = ["a", "b"].map {
      BundledDocument(path: path($0), fields: nil, version: gone.createTime, byteCount: 1)
    }
    _ = try engine.handle(.load(gone))
    #expect(try local.documents(rooms).map(\.path.id) == ["a", "b"])
    #expect(try engine.brokenInvariant() == nil)
  }

  @Test func anOlderBundleRevertsNoDocumentAndKeepsPendingWrites() throws {
    let local = try LocalStore(
      try DocumentStore.openInMemory(), user: nil, collector: .lru, client: "client")
    let engine = SyncEngine(local)
    let time = try #require(StoredTimestamp(microseconds: 15))
    _ = try engine.handle(.write([.set(path("a"), StoredMap([("n", .integer(1))]))], at: time, nil))
    _ = try engine.handle(.load(try bundle(["a", "b"], at: 1000)))
    _ = try engine.handle(.load(try bundle(["b"], at: 500)))
    #expect(try local.document(path("a")).fields == StoredMap([("n", .integer(1))]))
    #expect(try local.remoteDocument(path("a")).version == SnapshotVersion(microseconds: 1000))
    #expect(try local.allocate(rooms).readTime == SnapshotVersion(microseconds: 1000))
    #expect(try engine.brokenInvariant() == nil)
  }

  /// The process fails at the given disk call of the load.
  @Test(arguments: 0..<10) func aLoadThatACrashInterruptsLeavesNoDocumentThatStays(call: Int) throws {
    let disk = SimulatedDisk()
    let local = try opened(on: disk)
    disk.setFault(FaultPlan(.inputOutput, at: disk.counters.operations + call, isSticky: true))
    _ = try? local.load(try bundle(["a", "b"], at: 1000))
    let again = try opened(on: SimulatedDisk(disk.image(after: .kill)))
    _ = try again.collect(threshold: 0, percentile: 100, active: [])
    #expect(try again.documents(rooms).map(\.path.id) == [])
  }

  private func opened(on disk: SimulatedDisk) throws -> LocalStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open("/client", options: options, platform: disk.platform(seed: 1))
    return try LocalStore(store, user: nil, collector: .lru, client: "client")
  }
}
