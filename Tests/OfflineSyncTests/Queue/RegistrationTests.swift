// The registrations of a client's runs: named in the handshake, stored before a batch is sent, and removed
// with the last batch of the run.

import ByteStore
import DocumentStore
import Harness
import Testing

@testable import OfflineSync

@Suite struct RegistrationTests {
  private let disk = SimulatedDisk()
  private let path = DocumentPath(unchecked: ["rooms", "a"])

  private func open(_ disk: SimulatedDisk, run: UInt64, user: String? = nil) throws -> SyncEngine {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open("/client", options: options, platform: disk.platform(seed: 1))
    return SyncEngine(
      try LocalStore(store, user: user, collector: .lru, client: "client", run: RunID(run)))
  }

  /// Opens the client again after the process or the machine died, as another run.
  private func reopen(_ run: UInt64, after crash: Crash = .kill) throws -> (
    engine: SyncEngine, disk: SimulatedDisk
  ) {
    let copy = SimulatedDisk(disk.image(after: crash))
    return (try open(copy, run: run), copy)
  }

  private func write(_ engine: SyncEngine) throws -> [SyncEffect] {
    let time = try #require(StoredTimestamp(microseconds: 1))
    return try engine.handle(.write([increment(path)], at: time, nil))
  }

  /// Opens the write stream, and returns the runs that the handshake names.
  private func connect(_ engine: SyncEngine) throws -> [RunRegistration] {
    if engine.writing.phase == .stopped { try engine.fillPipeline() }
    if engine.writing.phase == .waiting { _ = try engine.handle(.timer(.writeBackoff)) }
    return try engine.handle(.writeOpened).compactMap {
      if case .handshake(_, let runs) = $0 { runs } else { nil }
    }.first ?? []
  }

  private func register(_ engine: SyncEngine, _ tokens: [UInt64: [UInt8]]) throws -> [RemoteWrite] {
    let known = Dictionary(uniqueKeysWithValues: tokens.map { (RunID($0), $1) })
    _ = try engine.handle(.registered(known))
    return sent(try engine.handle(.handshakeComplete(token: [9])))
  }

  private func sent(_ effects: [SyncEffect]) -> [RemoteWrite] {
    effects.compactMap { if case .send(let write) = $0 { write } else { nil } }
  }

  private func answer(_ engine: SyncEngine) throws {
    let version = SnapshotVersion(microseconds: 5)
    let results = [WriteResult(version: version, transformResults: [.integer(1)])]
    _ = try engine.handle(.writeAnswered(version, results, token: []))
  }

  private func disconnect(_ engine: SyncEngine) throws {
    _ = try engine.handle(.writeClosed(RemoteError(.unavailable)))
  }

  private func named(_ runs: [RunRegistration]) -> [UInt64] { runs.map(\.run.value) }

  private func storedRuns(_ engine: SyncEngine) throws -> [String] {
    try engine.local.store.documents(StructuredQuery(.collection(CacheKeys.registrations))).map(\.path.id)
  }

  // MARK: The handshake

  @Test func theHandshakeNamesTheRunsOfPendingBatchesAndThisRun() throws {
    let first = try open(disk, run: 1)
    _ = try write(first)
    #expect(named(try connect(first)) == [1])
    let second = try reopen(2)
    _ = try write(second.engine)
    let third = try open(SimulatedDisk(second.disk.image(after: .kill)), run: 3)
    let runs = try connect(third)
    #expect(named(runs) == [1, 2, 3])
    #expect(runs.allSatisfy { $0.queue == "client/-" && $0.token.isEmpty })
    let other = try open(SimulatedDisk(disk.image(after: .kill)), run: 4, user: "ann")
    _ = try write(other)
    #expect(named(try connect(other)) == [4], "the batch of run 1 belongs to no user")
  }

  @Test func eachBatchIsSentWithTheTokenOfItsRun() throws {
    let first = try open(disk, run: 1)
    _ = try write(first)
    _ = try connect(first)
    let (second, _) = try reopen(2)
    _ = try write(second)
    _ = try connect(second)
    let writes = try register(second, [1: [11], 2: [22], 77: [33]])
    #expect(writes.map(\.registration) == [[11], [22]])
    #expect(try storedRuns(second) == ["-:1", "-:2"], "no other run is stored")
    // The next batch is sent at once.
    #expect(sent(try write(second)).map(\.registration) == [[22]])
  }

  @Test func aTokenIsOnStableStorageBeforeABatchIsSentUnderIt() throws {
    let first = try open(disk, run: 1)
    _ = try write(first)
    _ = try connect(first)
    #expect(try register(first, [1: [11]]).count == 1)
    let (second, _) = try reopen(2, after: .powerLoss(.nothing, seed: 0))
    let runs = try connect(second)
    #expect(runs.map(\.token) == [[11], []])
    #expect(try register(second, [1: [11], 2: [22]]).map(\.registration) == [[11]])
  }

  /// The client was away until the remote had forgotten the run, which it registers again.
  @Test func aBatchThatMayHaveBeenSentKeepsItsToken() throws {
    let first = try open(disk, run: 1)
    _ = try write(first)
    _ = try connect(first)
    _ = try register(first, [1: [11]])
    _ = try write(first)
    try disconnect(first)
    _ = try write(first)
    let (second, secondDisk) = try reopen(2)
    #expect(try connect(second).map(\.token) == [[11], []])
    let writes = try register(second, [1: [12], 2: [22]])
    #expect(writes.map(\.registration) == [[11], [11], [12]], "the third was created without a connection")
    let third = try open(SimulatedDisk(secondDisk.image(after: .kill)), run: 3)
    #expect(try connect(third).map(\.token) == [[12], []])
    #expect(try register(third, [1: [13]]).map(\.registration) == [[11], [11], [12]])
  }

  /// The batch is created when the tokens have come, and the stream is not ready. It is sent under the token,
  /// its answer is lost, and the remote forgets the run.
  @Test func aBatchCreatedDuringTheHandshakeKeepsItsToken() throws {
    let first = try open(disk, run: 1)
    _ = try write(first)
    _ = try connect(first)
    _ = try first.handle(.registered([RunID(1): [11]]))
    _ = try write(first)
    let writes = sent(try first.handle(.handshakeComplete(token: [9])))
    #expect(writes.map(\.registration) == [[11], [11]])
    let (second, _) = try reopen(2)
    _ = try connect(second)
    #expect(try register(second, [1: [12], 2: [22]]).map(\.registration) == [[11], [11]])
  }

  // MARK: Removal

  @Test func theTokensLeaveWithTheLastBatchOfTheirRun() throws {
    let first = try open(disk, run: 1)
    for _ in 0..<2 { _ = try write(first) }
    _ = try connect(first)
    _ = try register(first, [1: [11]])
    let (second, secondDisk) = try reopen(2)
    _ = try write(second)
    _ = try connect(second)
    _ = try register(second, [1: [11], 2: [22]])
    try answer(second)
    #expect(try storedRuns(second) == ["-:1", "-:2"])
    _ = try second.handle(.writeClosed(RemoteError(.permissionDenied)))
    #expect(try storedRuns(second) == ["-:2"], "the rejected batch was the last one of its run")
    _ = try connect(second)
    _ = try register(second, [2: [22]])
    try answer(second)
    // This run continues, so its token stays until another run is registered.
    let third = try open(SimulatedDisk(secondDisk.image(after: .kill)), run: 3)
    #expect(try storedRuns(third) == ["-:2"])
    _ = try write(third)
    #expect(named(try connect(third)) == [3])
    _ = try register(third, [3: [33]])
    #expect(try storedRuns(third) == ["-:3"])
  }

  @Test func aCancelledBatchTakesTheTokensAlong() throws {
    let first = try open(disk, run: 1)
    _ = try write(first)
    _ = try connect(first)
    _ = try register(first, [1: [11]])
    let (second, _) = try reopen(2)
    let id = try #require(second.pendingBatches.first?.id)
    _ = try second.handle(.cancelWrite(id))
    #expect(try storedRuns(second).isEmpty)
  }

  @Test func everyUserHasSeparateRegistrations() throws {
    let engine = try open(disk, run: 1)
    _ = try write(engine)
    _ = try connect(engine)
    _ = try register(engine, [1: [11]])
    _ = try engine.handle(.changeUser("ann"))
    _ = try write(engine)
    let runs = try connect(engine)
    #expect(runs == [RunRegistration(queue: "client/=ann", run: RunID(1))])
    #expect(try register(engine, [1: [12]]).map(\.registration) == [[12]])
    _ = try engine.handle(.changeUser(nil))
    #expect(try connect(engine).map(\.token) == [[11]])
    #expect(try register(engine, [1: [11]]).map(\.registration) == [[11]])
  }

  /// A device may have many users, of whom some never return.
  @Test func theTokensOfUsersWhoDoNotReturnAreRemoved() throws {
    let first = try open(disk, run: 1, user: "ann")
    _ = try write(first)
    _ = try connect(first)
    _ = try register(first, [1: [11]])
    try answer(first)
    _ = try first.handle(.changeUser("bob"))
    for _ in 0..<2 { _ = try write(first) }
    _ = try connect(first)
    _ = try register(first, [1: [12]])
    #expect(try storedRuns(first) == ["=ann:1", "=bob:1"])
    let (second, _) = try reopen(2)
    _ = try write(second)
    _ = try connect(second)
    _ = try register(second, [2: [22]])
    #expect(try storedRuns(second) == ["-:2", "=bob:1"], "one has pending writes")
  }

  // MARK: Other remotes and other stores

  @Test func aRemoteWithoutRegistrationsGetsNoTokens() throws {
    let engine = try open(disk, run: 1)
    _ = try write(engine)
    _ = try connect(engine)
    #expect(sent(try engine.handle(.handshakeComplete(token: [9]))).map(\.registration) == [[]])
    #expect(sent(try write(engine)).map(\.registration) == [[]])
    #expect(try storedRuns(engine).isEmpty)
    // The remote is updated to one that registers runs.
    try disconnect(engine)
    _ = try connect(engine)
    #expect(try register(engine, [1: [11]]).map(\.registration) == [[11], [11]])
  }

  @Test func registrationsAtTheWrongTimeAndWithoutMeasureAreIgnored() throws {
    let engine = try open(disk, run: 1)
    _ = try write(engine)
    _ = try engine.handle(.registered([RunID(1): [1]]))
    _ = try connect(engine)
    _ = try engine.handle(.registered([RunID(1): []]))
    _ = try engine.handle(.registered([RunID(1): [UInt8](repeating: 1, count: 5000)]))
    #expect(sent(try engine.handle(.handshakeComplete(token: []))).map(\.registration) == [[]])
    _ = try engine.handle(.registered([RunID(1): [2]]))
    #expect(try storedRuns(engine).isEmpty)
    #expect(sent(try write(engine)).map(\.registration) == [[]])
  }

  /// A store of an earlier release, with one pending batch: the increment of a field by 5.
  @Test func theQueueOfAnEarlierReleaseIsRegisteredAsNew() throws {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open("/client", options: options, platform: disk.platform(seed: 1))
    let bytes =
      "01 0100000000000000 0700000000000000 0a00000000000000"
      + " 000101000205726f6f6d7301610b010000000000000000000000"
      + "0101016e010f010000000000000000000101760305"
    let batch = PendingBatch(
      id: BatchID(1), run: RunID(7), time: try #require(StoredTimestamp(microseconds: 10)), base: [],
      mutations: [PendingMutation(increment(path, by: 5))])
    #expect(BatchCodec.encode(batch) == Self.bytes(bytes))
    let time = SnapshotVersion.none.timestamp
    func place(_ path: DocumentPath, _ fields: [StoredMap.Entry]) -> Mutation {
      .place(StoredDocument(path: path, createTime: time, updateTime: time, fields: StoredMap(fields)))
    }
    try store.commit([
      place(
        CacheKeys.globals,
        [
          ("b", .integer(1)), ("c", .string("client")), ("s", .integer(0)), ("t", .integer(0)),
          ("u", .string("-")), ("v", .integer(0)),
        ]), place(CacheKeys.batch(BatchID(1), of: nil), [("b", .bytes(Self.bytes(bytes)))]),
    ])
    try store.close()
    let engine = try open(disk, run: 8)
    #expect(engine.pendingBatches == [batch])
    #expect(try connect(engine).map(\.run.value) == [7, 8])
    #expect(try register(engine, [7: [1], 8: [2]]).map(\.registration) == [[1]])
  }

  private static func bytes(_ text: String) -> [UInt8] {
    let digits = Array(text.filter { $0 != " " })
    return stride(from: 0, to: digits.count, by: 2).compactMap {
      UInt8(String(digits[$0...($0 + 1)]), radix: 16)
    }
  }

  @Test func damagedRegistrationsAreReported() throws {
    let engine = try open(disk, run: 1)
    _ = try write(engine)
    let store = engine.local.store
    let fields: [[StoredMap.Entry]] = [
      [], [("b", .array([.integer(1)]))], [("b", .array([.integer(1)])), ("t", .array([.integer(1)]))],
      [("b", .array([.integer(2), .integer(1)])), ("t", .array([.bytes([1]), .bytes([2])]))],
    ]
    for fields in fields {
      try store.commit([.set(CacheKeys.registration(RunID(1), of: nil), StoredMap(fields))])
      #expect(throws: DocumentStoreError.self) { try reopen(2) }
    }
    try store.commit([
      .set(CacheKeys.registration(RunID(1), of: nil), StoredMap([("b", .array([])), ("t", .array([]))]))
    ])
    #expect(throws: Never.self) { try reopen(2) }
  }

  // MARK: Long queues

  /// More runs are pending than a remote registers at once. The others are sent without a token.
  @Test func aHandshakeNamesAtMostAThousandRuns() throws {
    var queue = WriteQueue()
    let time = try #require(StoredTimestamp(microseconds: 1))
    for number in 1...1500 {
      queue.append(
        PendingBatch(
          id: BatchID(Int64(number)), run: RunID(UInt64(number)), time: time, base: [],
          mutations: [PendingMutation(increment(path))]))
    }
    #expect(queue.runs(max: 999).map(\.value) == Array(1...999))
    #expect(queue.runs(max: 5000).count == 1500)
    #expect(queue.brokenInvariant() == nil)
    for number in 1...1500 { queue.remove(BatchID(Int64(number))) }
    #expect(queue.runs(max: 5000).isEmpty && queue.spans.isEmpty && queue.brokenInvariant() == nil)
  }
}
