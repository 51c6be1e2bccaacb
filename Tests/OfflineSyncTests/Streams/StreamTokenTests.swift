// The write stream resumes with the token of the last answer, whatever happens to the client after that
// answer.

import Authority
import ByteStore
import DocumentStore
import Harness
import Testing

@testable import OfflineSync

@Suite struct StreamTokenTests {
  private let disk = SimulatedDisk()
  private let path = DocumentPath(unchecked: ["rooms", "a"])
  private let away = RemoteError(.unavailable)

  private func open(_ disk: SimulatedDisk) throws -> LocalStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open("/client", options: options, platform: disk.platform(seed: 1))
    return try LocalStore(store, user: nil, collector: .lru, client: "client")
  }

  /// Queues a write. Returns the token in the handshake of the stream that the client opens for the write.
  private func begin(_ engine: SyncEngine) throws -> [UInt8]? {
    let time = try #require(StoredTimestamp(microseconds: 1))
    _ = try engine.handle(.write([increment(path)], at: time, nil))
    _ = try engine.handle(.timer(.writeBackoff))
    return try engine.handle(.writeOpened).compactMap {
      if case .handshake(let token, _) = $0 { token } else { nil }
    }.first
  }

  private func answer(_ engine: SyncEngine, token: [UInt8]) throws {
    let version = SnapshotVersion(microseconds: 5)
    let results = [WriteResult(version: version, transformResults: [.integer(1)])]
    _ = try engine.handle(.writeAnswered(version, results, token: token))
  }

  private func sent(_ effects: [SyncEffect]) -> Int {
    effects.count { if case .send = $0 { true } else { false } }
  }

  // MARK: The engine

  @Test func theNextStreamStartsWithTheLastToken() throws {
    let engine = SyncEngine(try open(disk))
    #expect(try begin(engine) == [], "none has come")
    #expect(sent(try engine.handle(.handshakeComplete(token: [1]))) == 1)
    try answer(engine, token: [2])
    _ = try engine.handle(.writeClosed(away))
    #expect(try begin(engine) == [2], "of the answer")
    _ = try engine.handle(.handshakeComplete(token: [3]))
    _ = try engine.handle(.writeClosed(away))
    #expect(try begin(engine) == [3], "of the handshake")
    #expect(
      sent(try engine.handle(.handshakeComplete(token: [3]))) == 2, "both waiting writes are sent after it")
    try answer(engine, token: [4])
    try answer(engine, token: [])
    _ = try engine.handle(.writeClosed(away))
    #expect(try begin(engine) == [4], "an answer without a token changes none")
  }

  @Test func theTokenSurvivesARestart() throws {
    let engine = SyncEngine(try open(disk))
    _ = try begin(engine)
    _ = try engine.handle(.handshakeComplete(token: [1]))
    let afterHandshake = SyncEngine(try open(SimulatedDisk(disk.image(after: .kill))))
    #expect(try begin(afterHandshake) == [1])
    try answer(engine, token: [2, 3])
    let afterAnswer = SyncEngine(try open(SimulatedDisk(disk.image(after: .kill))))
    #expect(afterAnswer.pendingBatches.isEmpty)
    #expect(try begin(afterAnswer) == [2, 3])
  }

  @Test func everyUserHasASeparateToken() throws {
    let engine = SyncEngine(try open(disk))
    _ = try begin(engine)
    _ = try engine.handle(.handshakeComplete(token: [1]))
    try answer(engine, token: [2])
    _ = try engine.handle(.changeUser("ann"))
    #expect(try begin(engine) == [])
    _ = try engine.handle(.handshakeComplete(token: [8]))
    try answer(engine, token: [9])
    _ = try engine.handle(.changeUser(nil))
    #expect(try begin(engine) == [2])
    let later = SyncEngine(try open(SimulatedDisk(disk.image(after: .kill))))
    #expect(later.local.streamToken == [2])
    _ = try later.handle(.changeUser("ann"))
    #expect(try begin(later) == [9])
  }

  /// A device may have many users, and all tokens are in one document.
  @Test func tokensOfManyUsersAreDroppedUnlessTheyHavePendingWrites() throws {
    let engine = SyncEngine(try open(disk))
    _ = try begin(engine)
    _ = try engine.handle(.handshakeComplete(token: [7]))
    for number in 0..<150 {
      _ = try engine.handle(.changeUser("\(number)"))
      _ = try begin(engine)
      _ = try engine.handle(.handshakeComplete(token: [8]))
      try answer(engine, token: [9])
    }
    let later = try open(SimulatedDisk(disk.image(after: .kill)))
    #expect((1...101).contains(later.tokens.count))
    #expect(later.tokens["=149"] == [9])
    #expect(later.streamToken == [7], "this user has a pending write")
  }

  /// A remote that does not accept a token closes the stream before the handshake is complete. No write
  /// is lost.
  @Test func aRefusedTokenIsDroppedAndTheWritesAreSent() throws {
    let engine = SyncEngine(try open(disk))
    _ = try begin(engine)
    _ = try engine.handle(.handshakeComplete(token: [1]))
    try answer(engine, token: [2])
    _ = try engine.handle(.writeClosed(away))
    #expect(try begin(engine) == [2])
    // An unavailable remote has not refused the token.
    _ = try engine.handle(.writeClosed(away))
    #expect(try begin(engine) == [2])
    _ = try engine.handle(.writeClosed(RemoteError(.invalidArgument, "an old token")))
    #expect(engine.pendingBatches.count == 2)
    let later = SyncEngine(try open(SimulatedDisk(disk.image(after: .kill))))
    #expect(later.local.streamToken == [], "it is forgotten on the disk, too")
    #expect(try begin(engine) == [])
    #expect(sent(try engine.handle(.handshakeComplete(token: [3]))) == 3)
    // An error after the handshake rejects the write.
    _ = try engine.handle(.writeClosed(RemoteError(.invalidArgument, "a bad write")))
    #expect(engine.pendingBatches.count == 2)
    #expect(try begin(engine) == [3])
  }

  // MARK: With a remote

  @Test func aRemoteReceivesTheLastTokenItSent() throws {
    let world = try LoopbackWorld()
    let remote = NumberingRemote(world.remote)
    func client(_ disk: SimulatedDisk) throws -> SyncDriver {
      SyncDriver(try open(disk), remote, options: SyncEngine.Options(), scheduler: world.scheduler)
    }
    let first = try client(disk)
    for _ in 0..<3 {
      first.write([increment(path)], .local) { _ in }
      // The time is long enough for the idle stream to be closed.
      world.pass()
    }
    // Each stream received one token in answer to its handshake and one in answer to its write.
    #expect(remote.returned == [[], [2], [4]])
    first.stop()
    try first.store.close()
    let second = try client(SimulatedDisk(disk.image(after: .kill)))
    second.write([increment(path)], .local) { _ in }
    world.pass()
    #expect(remote.returned == [[], [2], [4], [6]])
    second.stop()
    #expect(try world.authority.document(at: path)?.fields["n"] == .integer(4))
  }

  /// A power loss removes the last token from the disk. The client then sends the previous token, and no
  /// accepted write is applied twice.
  @Test func aTokenFromBeforeAPowerLossIsHarmless() throws {
    let world = try LoopbackWorld()
    let remote = NumberingRemote(world.remote)
    func client(_ disk: SimulatedDisk) throws -> SyncDriver {
      SyncDriver(try open(disk), remote, options: SyncEngine.Options(), scheduler: world.scheduler)
    }
    let first = try client(disk)
    first.write([increment(path)], .local) { _ in }
    world.pass()
    first.send(.disableNetwork)
    // The sync of this write also makes the first answer durable.
    first.write([increment(path)], .local) { _ in }
    world.pass()
    let image = disk.image(after: .powerLoss(.nothing, seed: 0))
    first.send(.enableNetwork)
    world.pass()
    #expect(remote.returned == [[], [2]])
    first.abandon()
    let second = try client(SimulatedDisk(image))
    world.pass()
    #expect(remote.returned == [[], [2], [2]], "the data after the write is lost")
    #expect(try world.authority.document(at: path)?.fields["n"] == .integer(2))
    #expect(world.ask(second) { $0.pendingBatches.count } == 0)
    #expect(world.ask(second) { $0.local.streamToken } == [6])
    second.stop()
  }
}

/// A loopback remote whose tokens are all different, because it numbers its write stream messages.
private final class NumberingRemote: Remote {
  private struct State {
    var given: UInt8 = 0
    var returned: [[UInt8]] = []
  }

  private let remote: LoopbackRemote
  private let state = Locked(State())

  init(_ remote: LoopbackRemote) { self.remote = remote }

  /// The tokens received in handshakes.
  var returned: [[UInt8]] { state.withLock { $0.returned } }

  private func nextToken() -> [UInt8] {
    state.withLock { state in
      state.given += 1
      return [state.given]
    }
  }

  var documentsName: String { remote.documentsName }

  func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream {
    remote.openWatchStream(as: user, handler)
  }

  func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream {
    let stream = remote.openWriteStream(as: user) { [self] event in
      switch event {
      case .handshakeComplete: handler(.handshakeComplete(token: nextToken()))
      case .answered(let version, let results, _):
        handler(.answered(version, results, token: nextToken()))
      case .opened, .registered, .overtaken, .closed: handler(event)
      }
    }
    return Stream(stream: stream) { [self] token in state.withLock { $0.returned.append(token) } }
  }

  private struct Stream: WriteStream {
    let stream: any WriteStream
    let note: @Sendable ([UInt8]) -> Void

    func handshake(_ token: [UInt8], runs: [RunRegistration]) {
      note(token)
      stream.handshake(token, runs: runs)
    }

    func write(_ write: RemoteWrite) { stream.write(write) }

    func close() { stream.close() }
  }

  func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
  ) {
    remote.documents(at: paths, as: user, answer)
  }

  func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) {
    remote.commit(mutations, as: user, answer)
  }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
  ) {
    remote.aggregate(aggregates, over: query, as: user, answer)
  }
}
