// Writes that follow earlier pending writes: they succeed only if no other client writes in between.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct FollowingTests {
  private static let note = DocumentPath(unchecked: ["notes", "a"])
  private static let counter = DocumentPath(unchecked: ["counters", "all"])
  private static let rank = StoredFieldPath(unchecked: ["rank"])

  private static func write(_ rank: Int64, _ precondition: PendingPrecondition) -> PendingMutation {
    PendingMutation(
      .patch(note, StoredMap([("rank", .integer(rank))]), mask: FieldMask([Self.rank])),
      requiring: precondition)
  }

  /// A patch without a precondition on the content.
  private static let blind = PendingMutation(
    .patch(
      note, StoredMap([("text", .string("ours"))]), mask: FieldMask([StoredFieldPath(unchecked: ["text"])]),
      precondition: .exists(true)))

  /// The counter is the number of ranks above 0. Each of three writes changes both the rank and the counter;
  /// only a blind first write does not. After `jobCount` jobs, another client sets the rank to 0, or to 1 if
  /// the first write is blind. Returns the number of accepted writes.
  private func accepted(jobCount: Int, isOffline: Bool, isBlind: Bool = false) throws -> Int {
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
    func send(_ mutations: [PendingMutation]) {
      client.write(mutations, .server) { error in ends.withLock { $0.append(error == nil) } }
    }
    func write(_ rank: Int64, _ precondition: PendingPrecondition) {
      send([
        Self.write(rank, precondition), PendingMutation(increment(Self.counter, by: rank > 0 ? 1 : -1)),
      ])
    }
    if isBlind {
      send([Self.blind])
      write(1, .afterPendingWrites)
      write(0, .afterPendingWrites)
    } else {
      write(1, .updateTime(known))
      write(0, .afterPendingWrites)
      write(2, .afterPendingWrites)
    }
    world.scheduler.play(for: .max, max: jobCount)
    let (before, after): (Int64, Int64) = (try rank() > 0 ? 1 : 0, isBlind ? 1 : 0)
    try world.authority.commit([
      .set(Self.note, StoredMap([("rank", .integer(after)), ("by", .string("another"))])),
      increment(Self.counter, by: after - before),
    ])
    world.remote.refresh()
    world.remote.setReachable(true)
    world.pass(seconds: 20)
    let outcomes = ends.withLock { $0 }
    let count = try #require(try world.authority.document(at: Self.counter)).fields["n"]
    #expect(count == .integer(try rank() > 0 ? 1 : 0), "\(outcomes)")
    #expect(
      outcomes.count == 3 && outcomes == outcomes.sorted { $0 && !$1 },
      "one is refused, and those after it are")
    let authority = try world.authority.document(at: Self.note)
    let seen = world.ask(client) { try? $0.local.document(Self.note).fields }
    #expect(seen == authority?.fields, "the local view equals the remote's data")
    #expect(world.ask(client) { $0.pendingBatches.count } == 0)
    let broken = world.ask(client) { engine in
      do { return try engine.brokenInvariant() ?? "" } catch { return "\(error)" }
    }
    #expect(broken == "")
    return outcomes.count { $0 }
  }

  @Test func countsAreExactUnderConcurrentWrites() throws {
    var counts: Set<Int> = [try accepted(jobCount: 0, isOffline: true)]
    #expect(counts == [0])
    for jobCount in stride(from: 0, to: 40, by: 3) {
      counts.insert(try accepted(jobCount: jobCount, isOffline: false))
    }
    #expect(counts == [0, 1, 2, 3])
  }

  /// A patch without a precondition applies to any state, but the writes after the patch depend on the state
  /// that they read.
  @Test func countsAfterABlindPatchAreExactUnderConcurrentWrites() throws {
    var counts: Set<Int> = [try accepted(jobCount: 0, isOffline: true, isBlind: true)]
    #expect(counts == [1])
    for jobCount in stride(from: 0, to: 40, by: 3) {
      counts.insert(try accepted(jobCount: jobCount, isOffline: false, isBlind: true))
    }
    #expect(counts == [1, 2, 3])
  }

  /// The document came to the authority in a bundle from a machine whose clock is ahead.
  @Test func writesToADocumentVersionAheadOfTheClockAreAccepted() throws {
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
    let writes: [(Int64, PendingPrecondition)] = [(1, .updateTime(ahead)), (2, .afterPendingWrites)]
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

  /// Creates a cache with the note at version 5 and three pending writes of the note. `middle` is the second
  /// write.
  private func cache(_ middle: PendingMutation, behind first: PendingMutation? = nil) throws -> (
    LocalStore, DocumentStore
  ) {
    let store = try DocumentStore.openInMemory()
    let local = try LocalStore(store, user: nil, collector: .lru, client: "client")
    var event = RemoteEvent(version: SnapshotVersion(microseconds: 5))
    event.documents[Self.note] = SyncedDocument(
      Self.note, .found(StoredMap([("rank", .integer(0))])), version: event.version,
      createTime: event.version)
    _ = try local.apply(event)
    let first = first ?? Self.write(1, .updateTime(event.version.stored))
    for mutation in [first, middle, Self.write(3, .afterPendingWrites)] {
      _ = try local.write([mutation], at: event.version.stored)
    }
    return (local, store)
  }

  private func requirements(_ store: DocumentStore) throws -> [PendingPrecondition] {
    let local = try LocalStore(store, user: nil, collector: .lru, client: "client")
    #expect(local.queue.brokenInvariant() == nil)
    #expect(
      try local.composedDocument(Self.note).stored == store.document(at: Self.note),
      "the local view equals the stored data")
    return local.queue.all.map { $0.mutations[0].precondition }
  }

  @Test func theAcceptedVersionIsThePreconditionEvenAfterARestart() throws {
    let (local, store) = try cache(Self.write(2, .afterPendingWrites))
    #expect(try local.document(Self.note).fields?["rank"] == .integer(3))
    let version = SnapshotVersion(microseconds: 7)
    _ = try local.acknowledge(BatchID(1), version, results: [WriteResult(version: version)], token: [])
    #expect(try requirements(store) == [.updateTime(version.stored), .afterPendingWrites])
    #expect(try local.document(Self.note).fields?["rank"] == .integer(3))
  }

  @Test func followersOfARefusedWriteStayImpossibleAfterARestart() throws {
    let (local, store) = try cache(Self.write(2, .afterPendingWrites))
    _ = try local.reject(BatchID(1))
    #expect(try requirements(store) == [.impossible, .impossible])
    #expect(try local.document(Self.note).fields?["rank"] == .integer(0))
  }

  /// If the follower were accepted, it could not be distinguished from a write that follows a change by
  /// another client.
  @Test func aFollowerOfAnAnsweredWriteFailsAtOnce() throws {
    let (local, store) = try cache(Self.write(2, .afterPendingWrites))
    for (id, time) in [(1, 7), (2, 8), (3, 9)] {
      let version = SnapshotVersion(microseconds: Int64(time))
      _ = try local.acknowledge(
        BatchID(Int64(id)), version, results: [WriteResult(version: version)], token: [])
    }
    let late = [Self.write(4, .afterPendingWrites)]
    #expect(throws: DocumentStoreError.self) {
      try local.write(late, at: SnapshotVersion(microseconds: 10).stored)
    }
    #expect(try requirements(store) == [])
    #expect(try local.document(Self.note).fields?["rank"] == .integer(3))
  }

  /// The refused batch had not changed the view, but the batch after it had.
  @Test func aRefusedNoOpWriteHidesItsFollowers() throws {
    let (local, store) = try cache(Self.write(1, .afterPendingWrites))
    #expect(try local.document(Self.note).fields?["rank"] == .integer(3))
    _ = try local.reject(BatchID(2))
    #expect(try local.document(Self.note).fields?["rank"] == .integer(1))
    #expect(try requirements(store).last == .impossible)
  }

  @Test func aWriteWithoutEffectIsNotFollowed() throws {
    let (local, store) = try cache(
      PendingMutation(.set(Self.note, StoredMap(), precondition: .exists(false))))
    let version = SnapshotVersion(microseconds: 7)
    _ = try local.acknowledge(BatchID(1), version, results: [WriteResult(version: version)], token: [])
    #expect(try requirements(store) == [.exists(false), .updateTime(version.stored)])
  }

  // MARK: After a blind write

  private static func time(_ microseconds: Int64) -> SnapshotVersion {
    SnapshotVersion(microseconds: microseconds)
  }

  /// Accepts a batch at `version`. The batch was applied to the document at the version `before`.
  private func accept(_ id: Int64, at version: Int64, on before: Int64?, _ local: LocalStore) throws {
    let result = WriteResult(version: Self.time(version), versionBefore: before.map { Self.time($0) })
    _ = try local.acknowledge(BatchID(id), Self.time(version), results: [result], token: [])
  }

  @Test(arguments: [5 as Int64?, 6, 0, nil]) func aFollowerOfABlindPatchRequiresItsBaseVersion(before: Int64?)
    throws
  {
    let (local, store) = try cache(Self.write(2, .afterPendingWrites), behind: Self.blind)
    try accept(1, at: 7, on: before, local)
    // If a remote does not report the earlier version, the client assumes that the write was applied to the
    // expected version.
    let isAsRead = before == nil || before == 5
    #expect(
      try requirements(store)
        == (isAsRead ? [.updateTime(Self.time(7).stored), .afterPendingWrites] : [.impossible, .impossible]))
    #expect(try local.document(Self.note).fields?["rank"] == .integer(isAsRead ? 3 : 0))
    #expect(try local.document(Self.note).fields?["text"] == .string("ours"))
    #expect(local.queue.brokenInvariant() == nil)
  }

  /// Each write depends on the result of the previous write, even if the program restarts between the
  /// answers.
  @Test(arguments: [7 as Int64, 6]) func followersOfTwoBlindPatchesFailAfterAnInterveningWrite(before: Int64)
    throws
  {
    let (local, store) = try cache(Self.blind, behind: Self.write(1, .exists(true)))
    try accept(1, at: 7, on: 5, local)
    #expect(try requirements(store) == [.exists(true), .afterPendingWrites])
    let again = try LocalStore(store, user: nil, collector: .lru, client: "client")
    try accept(2, at: 8, on: before, again)
    #expect(try requirements(store) == [before == 7 ? .updateTime(Self.time(8).stored) : .impossible])
  }

  /// The result of a set does not depend on the earlier state of the document.
  @Test func followersOfASetDoNotDependOnEarlierVersions() throws {
    let set = PendingMutation(.set(Self.note, StoredMap([("rank", .integer(1))])))
    let (local, store) = try cache(Self.blind, behind: set)
    try accept(1, at: 7, on: nil, local)
    try accept(2, at: 8, on: 7, local)
    #expect(try requirements(store) == [.updateTime(Self.time(8).stored)])
  }

  /// The watch stream may deliver the result of a pending write before the answer. The client then applies
  /// the pending write again to its own result, and the next write depends on that state. This state equals
  /// the accepted state only if the pending write is idempotent.
  @Test(arguments: [true, false]) func aResultDeliveredByTheWatchStreamIsExpected(isIdempotent: Bool) throws {
    let local = try LocalStore(
      try DocumentStore.openInMemory(), user: nil, collector: .lru, client: "client")
    func tell(_ rank: Int64, at version: Int64) throws {
      var event = RemoteEvent(version: Self.time(version))
      event.documents[Self.note] = SyncedDocument(
        Self.note, .found(StoredMap([("rank", .integer(rank))])), version: event.version)
      _ = try local.apply(event)
    }
    try tell(0, at: 5)
    let first = isIdempotent ? Self.write(1, .none) : PendingMutation(increment(Self.note, "rank"))
    _ = try local.write([first], at: Self.time(5).stored)
    try tell(1, at: 7)
    _ = try local.write([Self.write(2, .afterPendingWrites)], at: Self.time(7).stored)
    try accept(1, at: 7, on: 5, local)
    #expect(
      local.queue.all.map { $0.mutations[0].precondition }
        == [isIdempotent ? .updateTime(Self.time(7).stored) : .impossible])
  }

  /// When another client writes: between two blind patches at versions 7 and 9, or after both patches.
  enum Others: CaseIterable { case never, between, behind }

  /// Regression: the connection broke before two answers arrived, and the watch stream recovered first. The
  /// version in the first answer is older than the watched version, so the dependent write was refused.
  @Test(arguments: Others.allCases) func resultsOfTwoBlindPatchesOnTheWatchStreamAreExpected(
    others: Others
  ) throws {
    let (local, store) = try cacheWithWatchedResults(
      [Self.write(1, .none), Self.blind], at: others == .behind ? 10 : 9)
    try accept(1, at: 7, on: 5, local)
    #expect(try requirements(store) == [.exists(true), .afterPendingWrites])
    try accept(2, at: 9, on: others == .between ? 8 : 7, local)
    // If another client has written after both patches, the remote detects the change, because the document's
    // version is no longer 9.
    #expect(
      try requirements(store) == [others == .between ? .impossible : .updateTime(Self.time(9).stored)])
  }

  @Test(arguments: [0, 1]) func anIncrementDeliveredByTheWatchStreamIsUnexpected(place: Int) throws {
    var patches = [Self.write(1, .none), Self.blind]
    patches[place] = PendingMutation(increment(Self.note, "n"))
    let (local, store) = try cacheWithWatchedResults(patches, at: 9)
    try accept(1, at: 7, on: 5, local)
    #expect(try requirements(store).last == .impossible, "it may count twice")
  }

  /// The creation leaves the watched state unchanged and is answered first.
  @Test func aCreationOnTheWatchStreamIsTheExpectedState() throws {
    let creation = PendingMutation(
      .set(Self.note, StoredMap([("rank", .integer(0))]), precondition: .exists(false)))
    let (local, store) = try cacheWithWatchedResults([creation, Self.blind], at: 9, isThere: false)
    try accept(1, at: 7, on: 0, local)
    #expect(try requirements(store) == [.exists(true), .afterPendingWrites])
    try accept(2, at: 9, on: 7, local)
    #expect(try requirements(store) == [.updateTime(Self.time(9).stored)])
  }

  /// Creates a cache that received the results of `writes` before the answers, and that then queued a write
  /// that depends on these results.
  private func cacheWithWatchedResults(
    _ writes: [PendingMutation], at version: Int64, isThere: Bool = true
  ) throws -> (LocalStore, DocumentStore) {
    let store = try DocumentStore.openInMemory()
    let local = try LocalStore(store, user: nil, collector: .lru, client: "client")
    func tell(_ fields: StoredMap?, at version: Int64) throws {
      var event = RemoteEvent(version: Self.time(version))
      event.documents[Self.note] = SyncedDocument(
        Self.note, fields.map { .found($0) } ?? .absent, version: event.version)
      _ = try local.apply(event)
    }
    try tell(isThere ? StoredMap([("rank", .integer(0))]) : nil, at: 5)
    for write in writes { _ = try local.write([write], at: Self.time(5).stored) }
    let results = try #require(try local.document(Self.note).fields)
    try tell(results, at: version)
    _ = try local.write([Self.write(2, .afterPendingWrites)], at: Self.time(version).stored)
    return (local, store)
  }

  @Test(arguments: [0 as Int64, 6]) func followersOfADeletionRequireAbsence(before: Int64) throws {
    let (local, store) = try cache(Self.write(1, .none), behind: PendingMutation(.delete(Self.note)))
    try accept(1, at: 7, on: 5, local)
    #expect(try requirements(store) == [.none, .afterPendingWrites])
    try accept(2, at: 8, on: before, local)
    #expect(try requirements(store) == [before == 0 ? .updateTime(Self.time(8).stored) : .impossible])
  }

  @Test func followersOfARefusedDeletionAreRefused() throws {
    let (local, store) = try cache(Self.write(1, .none), behind: PendingMutation(.delete(Self.note)))
    _ = try local.reject(BatchID(1))
    #expect(try requirements(store) == [.none, .impossible])
  }

  /// A set replaces the whole document, even if the set contains a server timestamp.
  @Test func aRefusedDeletionDoesNotAffectFollowersOfALaterSet() throws {
    let set = PendingMutation(
      .set(
        Self.note, StoredMap([("rank", .integer(1))]),
        transforms: [FieldTransform(StoredFieldPath(unchecked: ["at"]), .serverTimestamp)]))
    let (local, store) = try cache(set, behind: PendingMutation(.delete(Self.note)))
    _ = try local.reject(BatchID(1))
    #expect(try requirements(store) == [.none, .afterPendingWrites])
    try accept(2, at: 8, on: 5, local)
    #expect(try requirements(store) == [.updateTime(Self.time(8).stored)])
  }

  /// A write with a precondition of its own does not depend on earlier writes.
  @Test(arguments: [true, false]) func aRefusedCreationDoesNotAffectFollowersOfAGuardedWrite(
    isAccepted: Bool
  ) throws {
    let creation = PendingMutation(.set(Self.note, StoredMap(), precondition: .exists(false)))
    let known = PendingPrecondition.updateTime(Self.time(5).stored)
    let (local, store) = try cache(Self.write(2, known), behind: creation)
    _ = try local.reject(BatchID(1))
    #expect(try requirements(store) == [known, .afterPendingWrites])
    if isAccepted { try accept(2, at: 8, on: 5, local) } else { _ = try local.reject(BatchID(2)) }
    #expect(try requirements(store) == [isAccepted ? .updateTime(Self.time(8).stored) : .impossible])
  }

  /// A batch that is certain to be refused has no effect on which the next batch could depend.
  @Test func aDoomedBatchHidesNoAnswerFromItsFollowers() throws {
    let (local, store) = try cache(Self.write(2, .impossible))
    try accept(1, at: 7, on: 5, local)
    #expect(try requirements(store) == [.impossible, .updateTime(Self.time(7).stored)])
    _ = try local.reject(BatchID(2))
    #expect(try requirements(store) == [.updateTime(Self.time(7).stored)])
    #expect(try local.document(Self.note).fields?["rank"] == .integer(3))
  }

  /// If the remote does not report the earlier version, the accepted write counts as applied to the expected
  /// version.
  @Test func aBlindPatchResultIsNotAssumedWithoutAReportedVersion() throws {
    let (local, _) = try cache(Self.write(2, .afterPendingWrites), behind: Self.blind)
    for id in [1, 2, 3] { try accept(Int64(id), at: 6 + Int64(id), on: nil, local) }
    #expect(try !local.isAssumed(Self.note))
    #expect(try local.document(Self.note).requirement == .updateTime(Self.time(9).stored))
  }

  /// The result is assumed until the watch stream delivers the document. A restart does not change this.
  @Test func theResultOfABlindPatchOnAnUnreadVersionIsAssumed() throws {
    let (local, store) = try cache(Self.blind, behind: Self.blind)
    for id in [1, 2] { try accept(Int64(id), at: 7 + Int64(id), on: 5 + Int64(id), local) }
    _ = try local.reject(BatchID(3))
    #expect(try local.document(Self.note).requirement == .impossible)
    let again = try LocalStore(store, user: nil, collector: .lru, client: "client")
    let assumed = try again.document(Self.note)
    #expect(assumed.isAssumed && assumed.pending == .committed && assumed.version == Self.time(9))
    // A result that is based on an assumed state is assumed, too, unless the write replaces the whole
    // document.
    let set = PendingMutation(.set(Self.note, StoredMap()))
    let writes: [(mutations: [PendingMutation], isAssumed: Bool)] = [
      ([Self.blind], true), ([Self.write(1, .afterPendingWrites)], true), ([set], false),
      ([set, Self.blind], false),
      ([Self.blind, set], false),
    ]
    var states: [Bool] = []
    for (mutations, isAssumed) in writes {
      let id = try again.write(mutations, at: Self.time(9).stored).batch.id
      states.append(try again.isAssumed(Self.note))
      if !isAssumed { _ = try again.reject(id) }
    }
    #expect(states == writes.map { $0.isAssumed })
    for batch in again.queue.all { _ = try again.reject(batch.id) }
    var event = RemoteEvent(version: Self.time(9))
    event.documents[Self.note] = SyncedDocument(Self.note, .found(StoredMap()), version: event.version)
    _ = try again.apply(event)
    #expect(try again.document(Self.note).requirement == .updateTime(Self.time(9).stored))
  }

  /// Other clients had deleted the document, and this client had not received the deletion.
  @Test func theStateAfterASetIsFullyKnown() throws {
    let set = PendingMutation(
      .set(Self.note, StoredMap([("rank", .integer(1))]), precondition: .exists(false)))
    var wrong: [String] = []
    for mutations in [[set], [set, Self.blind]] {
      let (local, _) = try cache(Self.write(2, .afterPendingWrites))
      for batch in local.queue.all { _ = try local.reject(batch.id) }
      let id = try local.write(mutations, at: Self.time(6).stored).batch.id.value
      try accept(id, at: 7, on: 0, local)
      if try local.isAssumed(Self.note) { wrong.append("\(mutations.count) mutations: assumed") }
      let known = try local.document(Self.note)
      if known.requirement != .updateTime(Self.time(7).stored) || known.fields?["rank"] != .integer(1) {
        wrong.append("\(mutations.count) mutations: \(known)")
      }
    }
    #expect(wrong == [])
  }

  /// Between a read and a dependent write, pending writes may be answered, and other clients may write.
  @Test func aReadOfOneWriteDoesNotMatchTheNextWritesResult() throws {
    let local = try LocalStore(
      try DocumentStore.openInMemory(), user: nil, collector: .lru, client: "client")
    let time = try #require(StoredTimestamp(seconds: 1000, nanoseconds: 0))
    func fields(_ rank: Int64) -> StoredMap { StoredMap([("rank", .integer(rank))]) }
    func delete(whoseRank rank: Int64) throws {
      _ = try local.write(
        [PendingMutation(.delete(Self.note), requiring: .asRead(fields(rank)))], at: time)
    }
    let creations = try [7, 16].map { rank in
      try local.write([.set(Self.note, fields(rank), precondition: .exists(false))], at: time).batch.id
    }
    #expect(try local.document(Self.note).fields == fields(7))
    #expect(throws: DocumentStoreError.self) { try delete(whoseRank: 16) }
    let version = SnapshotVersion(microseconds: 5000)
    _ = try local.acknowledge(creations[0], version, results: [WriteResult(version: version)], token: [])
    #expect(try local.document(Self.note).fields == fields(7))
    #expect(throws: DocumentStoreError.self, "it has a time") { try delete(whoseRank: 7) }
    var event = RemoteEvent(version: SnapshotVersion(microseconds: 6000))
    event.documents[Self.note] = SyncedDocument(Self.note, .absent, version: event.version)
    _ = try local.apply(event)
    #expect(try local.document(Self.note).fields == fields(16))
    #expect(throws: DocumentStoreError.self) { try delete(whoseRank: 7) }
    #expect(local.queue.count == 1)
    try delete(whoseRank: 16)
    #expect(local.queue.last?.mutations.first?.precondition == .afterPendingWrites)
  }
}
