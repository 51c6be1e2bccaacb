// Writes of what the writes before them make: they happen if nobody comes in between, and not otherwise.

import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct FollowingTests {
  private static let note = DocumentPath(unchecked: ["notes", "a"])
  private static let counter = DocumentPath(unchecked: ["counters", "all"])
  private static let rank = StoredFieldPath(unchecked: ["rank"])

  private static func write(_ rank: Int64, _ precondition: Precondition) -> Mutation {
    .patch(
      note, StoredMap([("rank", .integer(rank))]), mask: FieldMask([Self.rank]), precondition: precondition)
  }

  /// The counter says whether the rank is more than 0. Each of three writes changes both; somewhere another client
  /// makes the rank 0.
  private func accepted(moment: Int, isOffline: Bool) throws -> Int {
    let world = try LoopbackWorld()
    var faults = LoopbackFaults()
    faults.latency = 1000...1000
    world.remote.setFaults(faults)
    func rank() throws -> Int64 {
      guard case .integer(let rank)? = try world.authority.document(at: Self.note)?.fields["rank"] else {
        return 0
      }
      return rank
    }
    try world.authority.commit([.set(Self.note, StoredMap([("rank", .integer(0))]))])
    let client = try world.client(on: SimulatedDisk())
    _ = client.listen(to: StructuredQuery(.document(Self.note)), ListenRules()) { _ in }
    world.pass(seconds: 1)
    if isOffline { world.remote.setReachable(false) }
    let known = try #require(try world.authority.document(at: Self.note)).updateTime
    let ends = Locked<[Bool]>([])
    for (rank, precondition) in [(1, Precondition.updateTime(known)), (0, .asMadeBefore), (2, .asMadeBefore)]
    {
      client.write(
        [Self.write(Int64(rank), precondition), increment(Self.counter, by: rank > 0 ? 1 : -1)], .server
      ) { error in ends.withLock { $0.append(error == nil) } }
    }
    world.scheduler.play(for: .max, max: moment)
    try world.authority.commit([
      .set(Self.note, StoredMap([("rank", .integer(0)), ("by", .string("another"))])),
      increment(Self.counter, by: try rank() > 0 ? -1 : 0),
    ])
    world.remote.refresh()
    world.remote.setReachable(true)
    world.pass(seconds: 20)
    let told = ends.withLock { $0 }
    let count = try #require(try world.authority.document(at: Self.counter)).fields["n"]
    #expect(count == .integer(try rank() > 0 ? 1 : 0), "\(told)")
    #expect(told.count == 3 && told == told.sorted { $0 && !$1 }, "one is refused, and those behind it are")
    let authority = try world.authority.document(at: Self.note)
    let seen = world.ask(client) { try? $0.local.document(Self.note).fields }
    #expect(seen == authority?.fields, "what the remote has is what is seen")
    #expect(world.ask(client) { $0.pendingBatches.count } == 0)
    let broken = world.ask(client) { engine in
      do { return try engine.brokenInvariant() ?? "" } catch { return "\(error)" }
    }
    #expect(broken == "")
    return told.count { $0 }
  }

  @Test func whereverAnotherClientComesInTheCountsAreExact() throws {
    var counts: Set<Int> = [try accepted(moment: 0, isOffline: true)]
    #expect(counts == [0])
    for moment in stride(from: 0, to: 40, by: 3) {
      counts.insert(try accepted(moment: moment, isOffline: false))
    }
    #expect(counts == [0, 1, 2, 3])
  }

  /// A bundle brought it to the authority, and whoever made that has a clock that is ahead.
  @Test func aWriteOfWhatIsAheadOfTheClockIsAcceptedAndSoIsTheOneThatFollows() throws {
    let world = try LoopbackWorld()
    let ahead = try #require(StoredTimestamp(seconds: 3_976_214_400, nanoseconds: 0))
    let fields = StoredMap([("rank", .integer(0))])
    try world.authority.commit([
      .place(StoredDocument(path: Self.note, createTime: ahead, updateTime: ahead, fields: fields))
    ])
    let client = try world.client(on: SimulatedDisk())
    _ = client.listen(to: StructuredQuery(.document(Self.note)), ListenRules()) { _ in }
    world.pass(seconds: 1)
    world.remote.setReachable(false)
    let ends = Locked<[OfflineSyncError?]>([])
    let writes: [(Int64, Precondition)] = [(1, .updateTime(ahead)), (2, .asMadeBefore)]
    for (rank, precondition) in writes {
      client.write([Self.write(rank, precondition)], .server) { error in ends.withLock { $0.append(error) } }
    }
    world.pass(seconds: 1)
    world.remote.setReachable(true)
    world.pass(seconds: 20)
    #expect(ends.withLock { $0 } == [nil, nil])
    let authority = try #require(try world.authority.document(at: Self.note))
    #expect(authority.fields["rank"] == .integer(2) && authority.updateTime > ahead)
    #expect(world.ask(client) { try? $0.local.document(Self.note).fields } == authority.fields)
    #expect(world.ask(client) { try? $0.local.document(Self.note).version.stored } == authority.updateTime)
  }

  // MARK: In the queue

  /// A cache that knows the note at time 5, and has three writes of it that wait; `middle` is the second.
  private func cache(_ middle: Mutation) throws -> (LocalStore, DocumentStore) {
    let store = try DocumentStore.openInMemory()
    let local = try LocalStore(store, user: nil, collector: .lru, client: "client")
    var event = RemoteEvent(version: SnapshotVersion(microseconds: 5))
    event.documents[Self.note] = SyncedDocument(
      Self.note, .found(StoredMap([("rank", .integer(0))])), version: event.version,
      createTime: event.version)
    _ = try local.apply(event)
    let first = Self.write(1, .updateTime(event.version.stored))
    for mutation in [first, middle, Self.write(3, .asMadeBefore)] {
      _ = try local.write([mutation], at: event.version.stored)
    }
    return (local, store)
  }

  private func requirements(_ store: DocumentStore) throws -> [Precondition] {
    let local = try LocalStore(store, user: nil, collector: .lru, client: "client")
    #expect(local.queue.brokenInvariant() == nil)
    #expect(
      try local.composedDocument(Self.note).stored == store.document(at: Self.note),
      "what is seen is what there is")
    return local.queue.all.map { $0.mutations[0].precondition }
  }

  @Test func theTimeOfWhatWasAcceptedTakesThePlaceOfTheConditionAlsoBehindARestart() throws {
    let (local, store) = try cache(Self.write(2, .asMadeBefore))
    #expect(try local.document(Self.note).fields?["rank"] == .integer(3))
    let version = SnapshotVersion(microseconds: 7)
    _ = try local.acknowledge(BatchID(1), version, [WriteResult(version: version)], token: [])
    #expect(try requirements(store) == [.updateTime(version.stored), .asMadeBefore])
    #expect(try local.document(Self.note).fields?["rank"] == .integer(3))
  }

  @Test func behindAWriteThatWasRefusedAllThatFollowAreImpossibleAlsoBehindARestart() throws {
    let (local, store) = try cache(Self.write(2, .asMadeBefore))
    _ = try local.reject(BatchID(1))
    #expect(try requirements(store) == [.impossible, .impossible])
    #expect(try local.document(Self.note).fields?["rank"] == .integer(0))
  }

  /// It could never be told from one that somebody has come before.
  @Test func whoFollowsWhatWasAnsweredMeanwhileIsToldAtOnce() throws {
    let (local, store) = try cache(Self.write(2, .asMadeBefore))
    for (id, time) in [(1, 7), (2, 8), (3, 9)] {
      let version = SnapshotVersion(microseconds: Int64(time))
      _ = try local.acknowledge(BatchID(Int64(id)), version, [WriteResult(version: version)], token: [])
    }
    let late = [Self.write(4, .asMadeBefore)]
    #expect(throws: DocumentStoreError.self) {
      try local.write(late, at: SnapshotVersion(microseconds: 10).stored)
    }
    #expect(try requirements(store) == [])
    #expect(try local.document(Self.note).fields?["rank"] == .integer(3))
  }

  /// It left no trace in what was seen, but the one behind it did.
  @Test func whereOneThatChangesNothingWasRefusedWhatFollowsItIsNotSeen() throws {
    let (local, store) = try cache(Self.write(1, .asMadeBefore))
    #expect(try local.document(Self.note).fields?["rank"] == .integer(3))
    _ = try local.reject(BatchID(2))
    #expect(try local.document(Self.note).fields?["rank"] == .integer(1))
    #expect(try requirements(store).last == .impossible)
  }

  @Test func aWriteThatChangesNothingOfWhatIsThereIsNotFollowed() throws {
    let (local, store) = try cache(.set(Self.note, StoredMap(), precondition: .exists(false)))
    let version = SnapshotVersion(microseconds: 7)
    _ = try local.acknowledge(BatchID(1), version, [WriteResult(version: version)], token: [])
    #expect(try requirements(store) == [.exists(false), .updateTime(version.stored)])
  }

  /// Between a read and the write that depends on it, what was read may be answered, and others may come.
  @Test func whatWasReadOfOneWriteIsNotWhatTheNextOneMakes() throws {
    let local = try LocalStore(
      try DocumentStore.openInMemory(), user: nil, collector: .lru, client: "client")
    let time = try #require(StoredTimestamp(seconds: 1000, nanoseconds: 0))
    func fields(_ rank: Int64) -> StoredMap { StoredMap([("rank", .integer(rank))]) }
    func delete(whoseRank rank: Int64) throws {
      _ = try local.write([.delete(Self.note, precondition: .asRead(fields(rank)))], at: time)
    }
    let creations = try [7, 16].map { rank in
      try local.write([.set(Self.note, fields(rank), precondition: .exists(false))], at: time).batch.id
    }
    #expect(try local.document(Self.note).fields == fields(7))
    #expect(throws: DocumentStoreError.self) { try delete(whoseRank: 16) }
    let version = SnapshotVersion(microseconds: 5000)
    _ = try local.acknowledge(creations[0], version, [WriteResult(version: version)], token: [])
    #expect(try local.document(Self.note).fields == fields(7))
    #expect(throws: DocumentStoreError.self, "it has a time") { try delete(whoseRank: 7) }
    var event = RemoteEvent(version: SnapshotVersion(microseconds: 6000))
    event.documents[Self.note] = SyncedDocument(Self.note, .absent, version: event.version)
    _ = try local.apply(event)
    #expect(try local.document(Self.note).fields == fields(16))
    #expect(throws: DocumentStoreError.self) { try delete(whoseRank: 7) }
    #expect(local.queue.count == 1)
    try delete(whoseRank: 16)
    #expect(local.queue.last?.mutations.first?.precondition == .asMadeBefore)
  }
}
