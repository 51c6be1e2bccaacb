// Each write is applied once, even if the client's store is copied or loses commits in a power failure.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct WriteIdentityTests {
  private let world: LoopbackWorld
  private let counter = DocumentPath(unchecked: ["counters", "all"])

  init() throws { world = try LoopbackWorld() }

  private func count() throws -> StoredValue? { try world.authority.document(at: counter)?.fields["n"] }

  private func rejections(of client: SyncDriver) -> Locked<Int> {
    let count = Locked(0)
    _ = client.listenToRejections { _ in count.withLock { $0 += 1 } }
    return count
  }

  /// A backup is opened while the original store is still used, so both stores use the same batch numbers.
  @Test func aCopiedClientRepeatsNoWritesAndItsNewWritesAreApplied() throws {
    let disk = SimulatedDisk()
    let original = try world.client(on: disk)
    original.send(.disableNetwork)
    for _ in 0..<2 { original.write([increment(counter)], .local) { _ in } }
    world.pass()
    let image = disk.image(after: .kill)
    original.send(.enableNetwork)
    world.pass()
    for _ in 0..<2 { original.write([increment(counter)], .local) { _ in } }
    world.pass()
    #expect(try count() == .integer(4))

    let copy = try world.client(on: SimulatedDisk(image))
    let rejected = rejections(of: copy)
    world.pass()
    #expect(try count() == .integer(4), "what the original has sent happens once")
    #expect(rejected.withLock { $0 } == 0)
    #expect(world.ask(copy) { $0.pendingBatches.count } == 0)
    for _ in 0..<2 { copy.write([increment(counter)], .local) { _ in } }
    world.pass()
    original.write([increment(counter)], .local) { _ in }
    world.pass()
    #expect(try count() == .integer(7), "the same numbers are other writes")
    #expect(rejected.withLock { $0 } == 0)
  }

  /// A buffered write is sent and answered; then a power loss removes it from the disk.
  @Test func aBatchNumberLostInAPowerFailureIsReusedSafely() throws {
    let disk = SimulatedDisk()
    let client = try world.client(on: disk, .buffered)
    world.pass()
    let before = SimulatedDisk(disk.image(after: .powerLoss(.nothing, seed: 0)))
    client.write([increment(counter)], .local) { _ in }
    world.pass()
    #expect(try count() == .integer(1))
    client.abandon()

    let later = try world.client(on: before, .buffered)
    let first = world.ask(later) { $0.pendingBatches.count }
    #expect(first == 0)
    later.write([increment(counter)], .local) { _ in }
    world.pass()
    #expect(try count() == .integer(2))
  }

  /// Regression: the remote had dropped the outcome of a copied client's batch. The client then used the
  /// answer as the document's state, so dependent writes were refused until the watch stream sent another
  /// version.
  @Test(arguments: [true, false]) func theResultOfAPatchWithADroppedOutcomeIsAssumed(isPatch: Bool) throws {
    let store = try DocumentStore.openInMemory()
    let server = try Authority.of(store)
    let token = try server.ledger.register(RunRegistration(queue: "c/-", run: RunID(1)), as: nil)
    func write(_ batch: Int64, _ mutation: Mutation) -> RemoteWrite {
      let id = WriteID(queue: "c/-", run: RunID(1), batch: BatchID(batch))
      var write = RemoteWrite(id: id, mutations: [mutation], firstOpen: BatchID(batch))
      write.registration = token
      return write
    }
    let mutation = isPatch ? increment(counter) : .set(counter, StoredMap())
    _ = try server.take(write(1, mutation), as: nil)
    _ = try server.take(write(2, increment(counter)), as: nil)
    let again = try #require(try server.take(write(1, mutation), as: nil))
    let known = try #require(try store.document(at: counter)).updateTime
    #expect(again.results[0].version < SnapshotVersion(known))
    #expect(again.results[0].versionBefore == again.results[0].version)
    let local = try LocalStore(
      try DocumentStore.openInMemory(), user: nil, collector: .lru, client: "client")
    var event = RemoteEvent(version: SnapshotVersion(microseconds: 5))
    event.documents[counter] = SyncedDocument(counter, .found(StoredMap()), version: event.version)
    _ = try local.apply(event)
    let id = try local.write([mutation], at: event.version.stored).batch.id
    _ = try local.acknowledge(id, again.version, results: again.results, token: [])
    #expect(try local.isAssumed(counter) == isPatch)
  }

  @Test func rulesAreNotAppliedAgainToAnAcceptedBatch() throws {
    let store = try DocumentStore.openInMemory()
    let server = try Authority.of(store)
    let token = try server.ledger.register(RunRegistration(queue: "c/-", run: RunID(1)), as: nil)
    func write(_ batch: Int64) -> RemoteWrite {
      let id = WriteID(queue: "c/-", run: RunID(1), batch: BatchID(batch))
      var write = RemoteWrite(id: id, mutations: [increment(counter)], firstOpen: BatchID(batch))
      write.registration = token
      return write
    }
    _ = try server.take(write(1), as: nil)
    _ = try server.take(write(1), as: nil)
    #expect(try store.document(at: counter)?.fields["n"] == .integer(1))
    // This later write makes the remote drop the outcome of the first batch, but the remote still knows that
    // the first batch was accepted.
    _ = try server.take(write(3), as: nil)
    let again = try #require(try server.take(write(1), as: nil))
    #expect(again.results.map(\.transformResults) == [[.null]])
    // A batch that the client has cancelled is not accepted later.
    #expect(throws: RemoteError.self) { try server.take(write(2), as: nil) }
    #expect(try store.document(at: counter)?.fields["n"] == .integer(2))
  }
}
