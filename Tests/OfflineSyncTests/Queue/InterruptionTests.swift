// Cancellations and changes of user at any point of the exchange between a client and its remote.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct InterruptionTests {
  private let world: LoopbackWorld
  private let disk = SimulatedDisk()
  private let counter = DocumentPath(unchecked: ["counters", "all"])

  init() throws {
    world = try LoopbackWorld()
    var faults = LoopbackFaults()
    faults.latency = 1000...1000
    world.remote.setFaults(faults)
  }

  private func count() throws -> StoredValue? { try world.authority.document(at: counter)?.fields["n"] }

  private func seen(by client: SyncDriver) -> StoredValue? {
    let path = counter
    return world.ask(client) { try? $0.local.document(path).fields?["n"] } ?? nil
  }

  /// The completions of writes in order.
  private final class Ends: Sendable {
    let all = Locked<[String]>([])

    func note(_ name: String) -> SyncDriver.Completion {
      { error in self.all.withLock { $0.append(error == nil ? name : "\(name) failed") } }
    }
  }

  /// The second of three writes is cancelled after `jobCount` jobs: while it is pending, sent, received by
  /// the remote, or answered. The connection may have been lost before.
  @Test(arguments: 0..<40) func cancellationIsAtomicAndOtherWritesAreAppliedOnce(jobCount: Int) throws {
    let client = try world.client(on: disk)
    let query = StructuredQuery(.document(counter))
    _ = client.listen(to: query, ListenRules()) { _ in }
    let ends = Ends()
    for name in ["a", "b", "c"] { client.write([increment(counter)], .server, completion: ends.note(name)) }
    if jobCount % 2 == 1 {
      world.scheduler.play(for: .max, max: jobCount / 2)
      world.remote.setReachable(false)
      world.remote.setReachable(true)
    }
    world.scheduler.play(for: .max, max: jobCount)
    let second =
      world.ask(client) { engine in engine.pendingBatches.first { $0.id == BatchID(2) }?.id } ?? nil
    if let second { client.send(.cancelWrite(second)) }
    world.pass()
    let completed = ends.all.withLock { $0 }
    #expect(completed.count == 3 && Set(completed).isSuperset(of: ["a", "c"]))
    let isKept = completed.contains("b")
    let number = try #require(try count())
    #expect(number == .integer(3) || (!isKept && number == .integer(2)))
    #expect(world.ask(client) { $0.pendingBatches.count } == 0)
    #expect(seen(by: client) == number, "the local view equals the remote's data")
  }

  /// Answers are buffered, and the authority recognises only the last batches whose answers a client has.
  @Test func aPowerLossAfterManyAnswersRepeatsFewBatches() throws {
    let client = try world.client(on: disk)
    for _ in 0..<103 { client.write([increment(counter)], .local) { _ in } }
    world.pass()
    #expect(world.ask(client) { $0.pendingBatches.count } == 0)
    client.abandon()
    let image = disk.image(after: .powerLoss(.nothing, seed: 1))
    let back = try world.client(on: SimulatedDisk(image))
    let rejections = Locked(0)
    _ = back.listenToRejections { _ in rejections.withLock { $0 += 1 } }
    let repeated = world.ask(back) { $0.pendingBatches.count } ?? 0
    #expect((1...16).contains(repeated), "\(repeated)")
    world.pass()
    #expect(world.ask(back) { $0.pendingBatches.count } == 0)
    #expect(rejections.withLock { $0 } == 0)
    #expect(try count() == .integer(103))
  }

  ///  Another user signs in, and later the first user signs in again. No write is lost, and no write is sent
  ///  as another user.
  @Test(arguments: 0..<40) func writesAreSentAsTheUserWhoIssuedThem(jobCount: Int) throws {
    let senders = Locked<[String]>([])
    var rules = LoopbackRules()
    rules.mayWrite = { user, mutations in
      for mutation in mutations { senders.withLock { $0.append("\(user ?? "-"):\(mutation.path.id)") } }
      return nil
    }
    world.remote.setRules(rules)
    let client = try world.client(on: disk)
    let ends = Ends()
    func write(_ name: String) {
      client.write(
        [increment(counter), .set(DocumentPath(unchecked: ["notes", name]), StoredMap())], .server,
        completion: ends.note(name))
    }
    write("nobody1")
    write("nobody2")
    world.scheduler.play(for: .max, max: jobCount)
    client.send(.changeUser("ann"))
    write("ann1")
    world.scheduler.play(for: .max, max: jobCount / 3)
    client.send(.changeUser(nil))
    write("nobody3")
    world.scheduler.play(for: .max, max: jobCount / 2)
    client.send(.changeUser("ann"))
    world.pass()
    client.send(.changeUser(nil))
    world.pass()
    #expect(try count() == .integer(4))
    #expect(Set(ends.all.withLock { $0 }) == ["nobody1", "nobody2", "nobody3", "ann1"])
    #expect(ends.all.withLock { $0.count } == 4)
    let sent = senders.withLock { $0 }
    #expect(sent.filter { $0.contains(":ann") && !$0.hasPrefix("ann:") } == [])
    #expect(sent.filter { $0.contains(":nobody") && !$0.hasPrefix("-:") } == [])
  }

  /// A remote that sends unrequested messages.
  @Test func unrequestedStreamMessagesAreIgnored() throws {
    let local = try LocalStore(
      try DocumentStore.openInMemory(), user: nil, collector: .lru, client: "client")
    let engine = SyncEngine(local)
    _ = try engine.start()
    let time = try #require(StoredTimestamp(microseconds: 1))
    let version = SnapshotVersion(microseconds: 5)
    let answer = SyncEvent.writeAnswered(version, [WriteResult(version: version)], token: [1])
    func events(_ events: SyncEvent...) throws { for event in events { _ = try engine.handle(event) } }
    try events(answer, .writeOvertaken, .handshakeComplete(token: [9]), .writeOpened, .watchOpened)
    try events(
      .write([increment(counter)], at: time, CallID(1)), .write([increment(counter)], at: time, CallID(2)))
    try events(answer, .writeOvertaken)
    #expect(engine.pendingBatches.count == 2, "the stream is not open")
    try events(.writeOpened, answer, .writeOvertaken)
    #expect(engine.pendingBatches.count == 2, "nothing was sent")
    try events(.handshakeComplete(token: [1]), .handshakeComplete(token: [1]), .writeOpened, answer)
    #expect(engine.pendingBatches.map(\.id) == [BatchID(2)])
    try events(
      .lookedUp(BatchID(2), .success([])), .timer(.writeBackoff), .timer(.watchBackoff), .timer(.watchIdle),
      .watchChanged(.target(.current, [TargetID(2)]), .none), .watchClosed(nil), answer, answer, answer,
      .writeClosed(nil), .writeClosed(RemoteError(.permissionDenied)), answer)
    #expect(engine.pendingBatches.isEmpty)
    #expect(try engine.brokenInvariant() == nil)
  }
}
