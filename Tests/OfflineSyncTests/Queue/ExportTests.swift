// Pending writes of any user are listed, discarded, exported and imported, and each is applied once.

import Authority
import ByteStore
import DocumentStore
import Harness
import Testing

@testable import OfflineSync

@Suite struct ExportTests {
  private let world: LoopbackWorld
  private let disk = SimulatedDisk()
  private let counter = DocumentPath(unchecked: ["counters", "all"])

  init() throws { world = try LoopbackWorld() }

  private func client(
    _ disk: SimulatedDisk, _ name: String = "client", user: String? = "ann", run: UInt64 = 1,
    clock: SimulatedClock = SimulatedClock(), sizes: CommitSizes = CommitSizes()
  ) throws -> SyncDriver {
    let store = try DocumentStore.open(
      "/client", options: LoopbackWorld.manual,
      platform: Platform(fileSystem: disk, clock: clock, random: SimulatedRandomSource(seed: 1)))
    let local = try LocalStore(
      store, user: user, collector: .lru, client: name, run: RunID(run), sizes: sizes)
    let client = SyncDriver(local, world.remote, options: SyncEngine.Options(), scheduler: world.scheduler)
    client.send(.disableNetwork)
    return client
  }

  private func add(_ count: Int, _ client: SyncDriver) {
    for _ in 0..<count { client.write([increment(counter)], .local) { _ in } }
    world.pass(seconds: 1)
  }

  private func export(_ client: SyncDriver, of user: String? = "ann") throws -> ExportedWrites {
    try #require(world.ask(client) { try? $0.local.exportWrites(of: user) } ?? nil)
  }

  private func importing(_ exported: ExportedWrites, _ client: SyncDriver) -> Int? {
    let count = Locked<Int?>(nil)
    client.importWrites(exported) { result in count.withLock { $0 = try? result.get() } }
    world.pass(seconds: 0)
    return count.withLock { $0 }
  }

  private func connect(_ client: SyncDriver) {
    client.send(.enableNetwork)
    world.pass(seconds: 200)
    client.send(.disableNetwork)
    world.pass(seconds: 1)
  }

  private func pending(_ client: SyncDriver, of user: String? = "ann") -> Int {
    world.ask(client) { $0.local.pendingBatches(of: user).count } ?? -1
  }

  private func isSound(_ client: SyncDriver) -> Bool {
    world.ask(client) { (try? $0.brokenInvariant()) == .some(nil) } ?? false
  }

  private var total: Int64? {
    get throws { try world.authority.document(at: counter)?.integer("n") }
  }

  @Test func theWritesOfEachUserAreListedAndDiscarded() throws {
    let client = try client(disk)
    add(2, client)
    let outcome = Locked<OfflineSyncError?>(nil)
    client.write([increment(counter)]) { error in outcome.withLock { $0 = error } }
    client.send(.changeUser(nil))
    add(1, client)
    #expect(world.ask(client) { $0.local.usersWithPendingWrites } == [nil, "ann"])
    #expect(pending(client) == 3 && pending(client, of: nil) == 1)
    client.send(.discardWrites(of: "ann"))
    world.pass(seconds: 1)
    #expect(pending(client) == 0 && pending(client, of: nil) == 1 && isSound(client))
    #expect(outcome.withLock { $0?.description.hasPrefix("cancelled") } == true)
    client.send(.discardWrites(of: nil))
    world.pass(seconds: 1)
    #expect(world.ask(client) { $0.local.usersWithPendingWrites.isEmpty } == true && isSound(client))
    let counter = counter
    #expect(world.ask(client) { (try? $0.local.document(counter))?.isFound } == false)
    connect(client)
    #expect(try total == nil)
    client.abandon()
    let again = try self.client(SimulatedDisk(disk.image(after: .kill)), run: 2)
    #expect(pending(again) == 0 && pending(again, of: nil) == 0)
  }

  // MARK: Discarding an export

  private func discard(_ exported: ExportedWrites, _ client: SyncDriver) -> Int? {
    let count = Locked<Int?>(nil)
    client.discardWrites(in: exported) { result in count.withLock { $0 = try? result.get() } }
    world.pass(seconds: 0)
    return count.withLock { $0 }
  }

  @Test(arguments: [nil, "ann"])
  func aWriteAfterTheExportStaysWhenTheExportIsDiscarded(user: String?) throws {
    let client = try client(disk)
    add(2, client)
    let exported = try export(client)
    add(1, client)
    client.send(.changeUser(user))
    #expect(discard(exported, client) == 2)
    #expect(discard(exported, client) == 0)
    #expect(pending(client) == 1 && isSound(client))
    client.send(.changeUser("ann"))
    connect(client)
    #expect(try total == 1 && pending(client) == 0)
    #expect(importing(exported, client) == 2, "they may be imported again")
    connect(client)
    #expect(try total == 3 && pending(client) == 0 && isSound(client))
    #expect(discard(exported, client) == 0)
  }

  /// The discarded writes are on their way. Their answers must not be taken for the one of a later write,
  /// which the remote rejects.
  @Test func sentWritesOfAnExportAreDiscarded() throws {
    let client = try client(disk)
    var rules = LoopbackRules()
    rules.mayWrite = { _, mutations in
      mutations.contains { $0.path.id == "denied" } ? RemoteError(.permissionDenied, "no") : nil
    }
    world.remote.setRules(rules)
    let outcomes = Locked<[String]>([])
    func write(_ id: String) {
      client.write([increment(DocumentPath(unchecked: ["counters", id]))]) { error in
        outcomes.withLock { $0.append("\(id) \(error?.description.prefix { $0 != ":" } ?? "accepted")") }
      }
    }
    write("a")
    write("b")
    world.pass(seconds: 1)
    let exported = try export(client)
    write("denied")
    var faults = LoopbackFaults()
    faults.latency = 100_000...100_000
    world.remote.setFaults(faults)
    client.send(.enableNetwork)
    while world.ask(client, { $0.progress.sentCount }) ?? 0 == 0 { world.scheduler.play(for: 10_000) }
    #expect(discard(exported, client) == 2)
    world.pass(seconds: 100)
    #expect(pending(client) == 0 && isSound(client))
    #expect(outcomes.withLock { $0 } == ["a cancelled", "b cancelled", "denied permissionDenied"])
  }

  /// Discarding some writes leaves the queue and the documents as cancelling each of them does.
  @Test func discardingAnExportIsCancellingItsWrites() throws {
    struct State: Sendable {
      let batches: [PendingBatch]
      let documents: [SyncedDocument?]
    }
    var discardedCount = 0
    for seed in 1...30 as ClosedRange<UInt64> {
      var random = SeededRandom(seed: seed)
      let disk = SimulatedDisk()
      let first = try client(disk)
      let paths = (0..<3).map { DocumentPath(unchecked: ["rooms", "\($0)"]) }
      for number in 0..<12 {
        let path = paths[random.below(3)]
        let mutation = [
          Mutation.set(path, StoredMap([("n", .integer(Int64(number)))])), increment(path), .delete(path),
        ][random.below(3)]
        let follows = random.below(3) == 0
        let pending = PendingMutation(mutation, requiring: follows ? .afterPendingWrites : .none)
        first.write([pending, PendingMutation(increment(counter))], .local) { _ in }
        world.pass(seconds: 0)
      }
      var exported = try export(first)
      exported.batches.removeAll { _ in random.below(2) == 0 }
      let ids = exported.batches.map(\.number)
      first.abandon()
      var states: [State] = []
      for isOneByOne in [false, true] {
        let client = try client(SimulatedDisk(disk.image(after: .kill)), run: 7)
        if isOneByOne {
          for id in ids { client.send(.cancelWrite(id)) }
          world.pass(seconds: 0)
        } else {
          #expect(discard(exported, client) == ids.count)
        }
        #expect(isSound(client))
        let all = paths + [counter]
        let state = world.ask(client) { engine in
          State(batches: engine.local.queue.all, documents: all.map { try? engine.local.document($0) })
        }
        states.append(try #require(state))
        client.abandon()
      }
      #expect(states[0].batches == states[1].batches, "seed \(seed)")
      #expect(states[0].documents == states[1].documents, "seed \(seed)")
      if !states[0].batches.isEmpty, !ids.isEmpty { discardedCount += 1 }
    }
    #expect(discardedCount > 20)
  }

  // MARK: Importing

  @Test func writesAreImportedIntoAnotherStoreOnce() throws {
    let first = try client(disk)
    add(3, first)
    let exported = try export(first)
    add(2, first)
    let second = try client(SimulatedDisk(), "other", run: 2)
    add(1, second)
    #expect(importing(exported, second) == 3)
    #expect(importing(exported, second) == 0)
    #expect(pending(second) == 4 && isSound(second))
    connect(second)
    #expect(try total == 4 && pending(second) == 0)
    #expect(importing(exported, second) == 0, "the batches were answered")
    // The exporting store still has the writes. The authority knows them.
    connect(first)
    #expect(try total == 6 && pending(first) == 0 && isSound(first))
  }

  /// The authority accepted the writes, and the answers were lost, before they were exported.
  @Test func writesThatWereSentAreNotAppliedAgain() throws {
    let first = try client(disk)
    add(2, first)
    let before = disk.image(after: .kill)
    connect(first)
    first.abandon()
    let lost = try client(SimulatedDisk(before), run: 9)
    let exported = try export(lost)
    #expect(exported.batches.map(\.run) == [RunID(1), RunID(1)])
    let second = try client(SimulatedDisk(), "other", run: 2)
    #expect(importing(exported, second) == 2)
    connect(second)
    #expect(try total == 2 && pending(second) == 0)
  }

  @Test func writesReturnToTheirOwnStoreAfterLaterOnes() throws {
    var client = try client(disk)
    add(3, client)
    let exported = try export(client)
    client.send(.discardWrites(of: "ann"))
    add(2, client)
    connect(client)
    #expect(try total == 2)
    #expect(importing(exported, client) == 3)
    client.abandon()
    let copy = SimulatedDisk(disk.image(after: .kill))
    client = try self.client(copy, run: 3)
    #expect(importing(exported, client) == 0, "they are pending")
    connect(client)
    #expect(try total == 5 && pending(client) == 0 && isSound(client))
    #expect(importing(exported, client) == 0)
    client.abandon()
    client = try self.client(SimulatedDisk(copy.image(after: .kill)), run: 4)
    #expect(importing(exported, client) == 0)
  }

  // MARK: Forgetting

  private static let day: UInt64 = 86_400_000_000_000

  private func notes(_ collection: CollectionPath, _ client: SyncDriver) throws -> Int {
    try client.store.documents(StructuredQuery(.collection(collection))).count
  }

  @Test func theNoteOfAnExportedRunLeavesWithItsLastBatch() throws {
    let client = try client(disk)
    for (isDiscarded, runCount) in [(false, 1), (true, 1), (false, 2)] {
      add(2, client)
      let exported = try export(client)
      #expect(try notes(CacheKeys.exports, client) == runCount)
      if isDiscarded { #expect(discard(exported, client) == 2) } else { connect(client) }
      #expect(try notes(CacheKeys.exports, client) == 0 && isSound(client))
      #expect(importing(exported, client) == (isDiscarded ? 2 : 0))
    }
    connect(client)
    #expect(try total == 6 && notes(CacheKeys.answered, client) == 6)
    client.abandon()
    let again = try self.client(SimulatedDisk(disk.image(after: .kill)), run: 2)
    #expect(world.ask(again) { $0.local.exportedRuns.isEmpty } == true)
  }

  @Test func batchesAreForgottenAfterAYearAndNotImportedAgain() throws {
    let clock = SimulatedClock()
    let client = try client(disk, clock: clock)
    add(3, client)
    let exported = try export(client)
    connect(client)
    #expect(try notes(CacheKeys.answered, client) == 3 && total == 3)
    clock.advance(nanoseconds: 360 * Self.day)
    add(1, client)
    _ = try export(client)
    #expect(try notes(CacheKeys.answered, client) == 3, "less than a year has passed")
    #expect(importing(exported, client) == 0)
    clock.advance(nanoseconds: 10 * Self.day)
    add(1, client)
    let later = try export(client)
    #expect(try notes(CacheKeys.answered, client) == 0)
    #expect(importing(exported, client) == nil, "they may have been imported")
    #expect(importing(later, client) == 0, "they are pending")
    connect(client)
    #expect(try total == 5 && pending(client) == 0 && isSound(client))
    #expect(importing(later, client) == 0)
    // Later writes of another store are imported, also after a restart.
    client.abandon()
    let copy = try self.client(SimulatedDisk(disk.image(after: .kill)), run: 4, clock: clock)
    let other = try self.client(SimulatedDisk(), "other", run: 5)
    add(1, other)
    #expect(importing(try export(other), copy) == 1)
    #expect(importing(exported, copy) == nil && importing(later, copy) == 0)
    connect(copy)
    #expect(try total == 6 && isSound(copy))
  }

  /// The first import of writes that are older than a year.
  @Test func oldWritesThatWereNeverImportedAreImported() throws {
    let first = try client(disk)
    add(2, first)
    let exported = try export(first)
    let clock = SimulatedClock()
    clock.advance(nanoseconds: 1000 * Self.day)
    let second = try client(SimulatedDisk(), "other", run: 2, clock: clock)
    add(1, second)
    #expect(importing(exported, second) == 2)
    connect(second)
    #expect(try total == 3)
    // The answers are kept for a year, although the writes are older.
    clock.advance(nanoseconds: 300 * Self.day)
    add(1, second)
    _ = try export(second)
    #expect(importing(exported, second) == 0)
  }

  /// The process dies at any call of the file system while batches are forgotten in several commits.
  @Test func noCrashForgetsABatchThatCanBeImportedAgain() throws {
    let clock = SimulatedClock()
    let client = try client(disk, clock: clock)
    add(8, client)
    let exported = try export(client)
    connect(client)
    clock.advance(nanoseconds: 400 * Self.day)
    client.abandon()
    var options = SimulatedDisk.Options()
    options.recordsHistory = true
    let recorded = SimulatedDisk(disk.image(after: .kill), options: options)
    let sizes = CommitSizes(singleCommitBytesMax: 300, part: 100)
    let forgetting = try self.client(recorded, run: 2, clock: clock, sizes: sizes)
    add(1, forgetting)
    let start = recorded.history.count
    _ = try export(forgetting)
    #expect(try notes(CacheKeys.answered, forgetting) == 0)
    forgetting.abandon()
    var counts: Set<Int> = []
    for entry in recorded.history[start...] {
      let again = try self.client(SimulatedDisk(entry.image.after(.kill)), run: 3, clock: clock, sizes: sizes)
      counts.insert(try notes(CacheKeys.answered, again))
      #expect(importing(exported, again) ?? 0 == 0)
      again.abandon()
    }
    #expect(counts.isSuperset(of: [0, 8]) && counts.count > 2, "\(counts)")
  }

  @Test func writesOfAnotherUserStayHiddenUntilTheirUserReturns() throws {
    let first = try client(disk)
    add(2, first)
    let exported = try export(first)
    let second = try client(SimulatedDisk(), "other", user: nil, run: 2)
    #expect(importing(exported, second) == 2)
    let counter = counter
    #expect(world.ask(second) { (try? $0.local.document(counter))?.isFound } == false)
    connect(second)
    #expect(try total == nil)
    second.send(.changeUser("ann"))
    world.pass(seconds: 1)
    #expect(world.ask(second) { (try? $0.local.document(counter))?.stored?.integer("n") } == 2)
    connect(second)
    #expect(try total == 2 && isSound(second))
  }

  @Test func changedExportsAreRefused() throws {
    let first = try client(disk)
    add(1, first)
    let exported = try export(first)
    let second = try client(SimulatedDisk(), "other", run: 2)
    var wrong: [ExportedWrites] = []
    func change(_ body: (inout ExportedWrites) -> Void) {
      var changed = exported
      body(&changed)
      wrong.append(changed)
    }
    change { $0.user = "bob" }
    change { $0.batches[0].run = RunID(5) }
    change { $0.batches[0].number = BatchID(2) }
    change { $0.batches[0].queue = "client" }
    change { $0.batches.append($0.batches[0]) }
    for count in exported.batches[0].bytes.indices { change { $0.batches[0].bytes.removeLast(count + 1) } }
    let hidden = PendingBatch(
      id: BatchID(1), run: RunID(1), time: SnapshotVersion.first.timestamp, base: [],
      mutations: [PendingMutation(.delete(DocumentPath(unchecked: ["__sync__", "globals"])))])
    change { $0.batches[0].bytes = BatchCodec.encode(hidden) }
    #expect(wrong.filter { importing($0, second) != nil }.count == 0)
    var random = SeededRandom(seed: 1)
    for _ in 0..<2000 {
      var bytes = exported.batches[0].bytes
      bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
      change { $0.batches[0].bytes = bytes }
      _ = try? wrong[wrong.count - 1].checkedBatches()
    }
    #expect(importing(exported, second) == 1 && isSound(second))
  }
}
