// Steps that exceed one commit with the sizes of a client.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct LargeStepTests {
  private static let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))
  private static let millionBytes = StoredValue.bytes([UInt8](repeating: 7, count: 1_000_000))
  private let version = SnapshotVersion(microseconds: 10)

  private func path(_ number: Int) -> DocumentPath { DocumentPath(unchecked: ["rooms", "\(number)"]) }

  private func open(_ store: DocumentStore) throws -> LocalStore {
    try LocalStore(store, user: nil, collector: .lru, client: "client")
  }

  /// Creates a cache with documents of a million bytes each, received in one event.
  private func cache(documents: Int) throws -> LocalStore {
    let local = try open(try DocumentStore.openInMemory())
    let target = try local.allocate(Self.rooms).id
    var event = RemoteEvent(version: version)
    var change = TargetChange(resumeToken: [1], isCurrent: true)
    for number in 0..<documents {
      event.documents[path(number)] = SyncedDocument(
        path(number), .found(StoredMap([("b", Self.millionBytes), ("n", .integer(1))])), version: version,
        createTime: version)
      change.added.insert(path(number))
    }
    event.targetChanges[target] = change
    #expect(try local.apply(event).count == documents)
    return local
  }

  private func notes(_ local: LocalStore, _ segments: String...) throws -> Int {
    try local.store.count(StructuredQuery(.collection(CollectionPath(unchecked: segments))))
  }

  /// The first snapshot of a listener has all of the authority's documents. Afterwards, the client keeps
  /// working.
  @Test func aFirstSnapshotMayExceedOneCommit() throws {
    let world = try LoopbackWorld()
    for half in [0..<9, 9..<18] {
      try world.authority.commit(half.map { .set(path($0), StoredMap([("b", Self.millionBytes)])) })
    }
    let disk = SimulatedDisk()
    var client = try world.client(on: disk)
    let counts = Locked<[Int]>([])
    _ = client.listen(to: Self.rooms, ListenRules(waitsForSync: true)) { result in
      counts.withLock { $0.append((try? result.get().documents.count) ?? -1) }
    }
    world.pass()
    client.write([.set(path(18), StoredMap())], .server) { error in
      counts.withLock { $0.append(error == nil ? 100 : -1) }
    }
    world.pass()
    #expect(counts.withLock { $0.filter { $0 != 100 } } == [18, 19])
    #expect(counts.withLock { $0.contains(100) })
    client.stop()
    try client.store.close()
    client = try world.client(on: SimulatedDisk(disk.image(after: .kill)))
    let query = Self.rooms
    let found = world.ask(client) { engine in
      (try? engine.local.documents(query).count, try? engine.local.allocate(query).resumeToken.isEmpty)
    }
    #expect(found?.0 == 19 && found?.1 == false)
  }

  /// A small request whose result is too large fails without effect. The parts that were written in advance
  /// are removed.
  @Test func aWriteWithAnOversizedResultFailsAlone() throws {
    let local = try cache(documents: 17)
    let writeTime = version.stored
    #expect(throws: DocumentStoreError.self) {
      try local.write((0..<17).map { increment(path($0)) }, at: writeTime)
    }
    #expect(local.queue.isEmpty)
    #expect(try notes(local, "__queue__") == 0 && notes(local, "__remote__") == 0)
    #expect(try local.store.document(at: DocumentPath(unchecked: ["__sync__", "unfinished"])) == nil)
    #expect(try local.document(path(0)).fields?["n"] == .integer(1))

    let batch = try local.write([increment(path(0))], at: writeTime).batch
    let again = try open(local.store)
    #expect(again.queue.all == [batch])
    #expect(try again.document(path(0)).fields?["n"] == .integer(2))
  }

  /// Together, the batch, its documents and the remote's versions are three times the size of the request.
  @Test func aTenMegabyteRequestOverLargeDocumentsIsQueued() throws {
    let local = try cache(documents: 10)
    let mutations = (0..<10).map { number in
      Mutation.set(path(number), StoredMap([("b", Self.millionBytes), ("n", .integer(2))]))
    }
    let batch = try local.write(mutations, at: version.stored).batch
    #expect(try notes(local, "__queue__", "-:1", "__parts__") == 3)
    let again = try open(local.store)
    #expect(again.queue.all == [batch])
    #expect(try again.document(path(9)) == local.document(path(9)))
    #expect(try again.remoteDocument(path(9)).fields?["n"] == .integer(1))

    let later = SnapshotVersion(microseconds: 20)
    let results = mutations.map { _ in WriteResult(version: later) }
    let documents = try again.acknowledge(batch.id, later, results: results, token: [])
    #expect(documents.count == 10 && documents.allSatisfy { $0.version == later })
    #expect(try notes(again, "__queue__") == 0 && notes(again, "__queue__", "-:1", "__parts__") == 0)
  }

  /// The documents with pending writes of one user exceed one commit.
  @Test func aUserWithManyPendingWritesCanBeChanged() throws {
    let local = try cache(documents: 15)
    _ = try local.changeUser("ann")
    for number in 0..<15 {
      _ = try local.write([increment(path(number))], at: version.stored, durability: .buffered)
    }
    var counts: [Int] = []
    var values: [StoredValue?] = []
    for user in [nil, "ann"] as [String?] {
      counts.append(try local.changeUser(user).count)
      values.append(try local.store.document(at: path(14))?.fields["n"])
    }
    #expect(counts == [15, 15])
    let expected: [StoredValue?] = [.integer(1), .integer(2)]
    #expect(values == expected)
  }
}
