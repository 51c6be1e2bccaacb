// Rejections are kept until a listener has seen them, also across restarts.

import Authority
import ByteStore
import DocumentStore
import Harness
import Testing

@testable import OfflineSync

@Suite struct RejectionTests {
  private let world: LoopbackWorld
  private let disk = SimulatedDisk()

  init() throws {
    world = try LoopbackWorld()
    var rules = LoopbackRules()
    rules.mayWrite = { _, _ in RemoteError(.permissionDenied, "no") }
    world.remote.setRules(rules)
  }

  private func path(_ number: Int) -> DocumentPath { DocumentPath(unchecked: ["rooms", "\(number)"]) }

  private func write(_ numbers: ClosedRange<Int>, _ client: SyncDriver) {
    for number in numbers { client.write([.set(path(number), StoredMap())], .local) { _ in } }
    world.pass()
  }

  private func names(heardBy client: SyncDriver, seen: Bool = true) -> Locked<[String]> {
    let names = Locked<[String]>([])
    _ = client.listenToRejections { [weak client] result in
      guard case .success(let rejection) = result else { return }
      names.withLock { $0 += rejection.paths.map(\.id) }
      if seen { client?.noteSeen(rejection) }
    }
    world.pass(seconds: 0)
    return names
  }

  @Test func aLaterListenerReceivesOnlyWhatNoListenerHasSeen() throws {
    let client = try world.client(on: disk)
    write(1...120, client)
    #expect(world.ask(client) { $0.pendingBatches.count } == 0)
    let first = names(heardBy: client)
    #expect(first.withLock { $0 } == (1...120).map { "\($0)" })
    let second = names(heardBy: client)
    write(121...122, client)
    #expect(first.withLock { $0.count } == 122)
    #expect(second.withLock { $0 } == ["121", "122"])
  }

  @Test func rejectionsSurviveACrashUntilTheyWereSeen() throws {
    var client = try world.client(on: disk)
    write(1...3, client)
    #expect(names(heardBy: client, seen: false).withLock { $0 } == ["1", "2", "3"])
    client.abandon()
    let copy = SimulatedDisk(disk.image(after: .powerLoss(.nothing, seed: 1)))
    client = try world.client(on: copy)
    write(4...4, client)
    #expect(names(heardBy: client).withLock { $0 } == ["1", "2", "3", "4"])
    client.stop()
    client = try world.client(on: SimulatedDisk(copy.image(after: .kill)))
    #expect(names(heardBy: client).withLock { $0 } == [])
  }

  /// A rejection is in the store exactly if its batch is not in the queue.
  @Test func aCrashAtAnyCallLosesNoRejection() throws {
    var options = SimulatedDisk.Options()
    options.recordsHistory = true
    let disk = SimulatedDisk(DiskImage(), options: options)
    for sizes in [CommitSizes(), CommitSizes(singleCommitBytesMax: 300, part: 100)] {
      let store = try DocumentStore.open(
        "/client", options: LoopbackWorld.manual, platform: disk.platform(seed: 1))
      let local = try LocalStore(store, user: nil, collector: .lru, client: "client", sizes: sizes)
      let time = try #require(StoredTimestamp(microseconds: 1))
      let text = StoredMap([("s", .string(String(repeating: "x", count: 200)))])
      let batch = try local.write([.set(path(1), text), .set(path(2), text)], at: time).batch
      let begin = disk.history.count
      let rejection = Rejection(batch, of: nil, error: RemoteError(.permissionDenied), bytesMax: 1000)
      _ = try local.reject(batch.id, keeping: rejection)
      try store.close()
      for entry in disk.history[begin...] {
        let copy = SimulatedDisk(SimulatedDisk(entry.image).image(after: .kill))
        let again = try LocalStore(
          try DocumentStore.open(
            "/client", options: LoopbackWorld.manual, platform: copy.platform(seed: 2)),
          user: nil, collector: .lru, client: "client", sizes: sizes)
        let kept = try again.rejections(after: nil).filter { $0.id == batch.id }
        #expect(kept.count + again.queue.all.count == 1)
        #expect(kept.isEmpty || kept == [rejection])
      }
    }
  }

  @Test func theOldestRejectionsAreDroppedAndCounted() throws {
    let instruments = RecordedInstruments()
    var options = LoopbackWorld.manual
    options.instruments = instruments
    let store = try DocumentStore.open("/client", options: options, platform: disk.platform(seed: 1))
    let local = try LocalStore(store, user: nil, collector: .lru, client: "client")
    local.rejectionLimits.countMax = 3
    let client = SyncDriver(
      local, world.remote, options: SyncEngine.Options(), scheduler: world.scheduler)
    write(1...5, client)
    #expect(local.droppedRejectionCount == 2)
    let events = instruments.events(.syncRejectionDropped)
    #expect(events.map { $0["rejections"] } == [.count(1), .count(1)])
    local.rejectionLimits.bytesMax = 1
    write(6...6, client)
    #expect(local.droppedRejectionCount == 5)
    #expect(names(heardBy: client).withLock { $0 } == ["6"], "the newest is kept at any size")
  }

  @Test func aLargeBatchIsReportedWithItsFirstWrites() throws {
    let store = try DocumentStore.open(
      "/client", options: LoopbackWorld.manual, platform: disk.platform(seed: 1))
    let local = try LocalStore(store, user: nil, collector: .lru, client: "client")
    local.rejectionLimits.batchBytesMax = 500
    let client = SyncDriver(
      local, world.remote, options: SyncEngine.Options(), scheduler: world.scheduler)
    let mutations = (1...20).map { Mutation.set(path($0), StoredMap([("n", .integer(Int64($0)))])) }
    client.write(mutations, .local) { _ in }
    world.pass()
    let kept = try #require(try local.rejections(after: nil).first)
    #expect(kept.mutationCount == 20 && kept.mutations.count > 1 && kept.mutations.count < 10)
    #expect(kept.mutations == mutations.prefix(kept.mutations.count).map { PendingMutation($0) })
  }

  /// The listener is first called before any write that is issued after its registration completes.
  @Test func aMissedRejectionIsDeliveredBeforeLaterWritesComplete() throws {
    let client = try world.client(on: disk)
    write(1...1, client)
    let lines = Locked<[String]>([])
    func issue(_ number: Int) {
      client.write([.set(path(number), StoredMap())], .local) { _ in
        lines.withLock { $0.append("write \(number)") }
      }
    }
    issue(2)
    let id = client.listenToRejections { result in
      if case .success(let rejection) = result {
        lines.withLock { $0 += rejection.paths.map { "rejection \($0.id)" } }
      }
    }
    issue(3)
    world.pass(seconds: 0)
    #expect(lines.withLock { Array($0.prefix(3)) } == ["write 2", "rejection 1", "write 3"])
    client.unlistenToRejections(id)
  }

  @Test func aMissedRejectionIsDeliveredWhenItsUserReturns() throws {
    let client = try world.client(on: disk)
    client.send(.changeUser("ann"))
    write(1...1, client)
    client.send(.changeUser(nil))
    let names = names(heardBy: client, seen: false)
    world.pass()
    #expect(names.withLock { $0 } == [])
    client.send(.changeUser("ann"))
    world.pass()
    #expect(names.withLock { $0 } == ["1"])
    // A listener receives a rejection once, even if it has not seen it yet.
    client.send(.changeUser("bob"))
    client.send(.changeUser("ann"))
    world.pass()
    #expect(names.withLock { $0 } == ["1"])
  }

  @Test func aRejectionWithoutListenersGoesToTheNextListener() throws {
    let client = try world.client(on: disk)
    let id = client.listenToRejections { [weak client] in
      if case .success(let rejection) = $0 { client?.noteSeen(rejection) }
    }
    write(1...1, client)
    client.unlistenToRejections(id)
    write(2...3, client)
    #expect(names(heardBy: client).withLock { $0 } == ["2", "3"])
  }
}

/// The record of a rejection, as the store has it.
@Suite struct RejectionRecordTests {
  private func rejection() throws -> Rejection {
    let time = try #require(StoredTimestamp(seconds: 1000, nanoseconds: 0))
    let path = try DocumentPath(["rooms", "a"])
    let batch = PendingBatch(
      id: BatchID(7), run: RunID(9), time: time, base: [],
      mutations: [
        PendingMutation(.set(path, StoredMap([("n", .integer(1))]))), PendingMutation(.delete(path)),
      ])
    return Rejection(
      batch, of: "ann", error: RemoteError(.aborted, String(repeating: "é", count: 4000)), bytesMax: 1000)
  }

  @Test func aRecordRoundTripsAndItsTextIsBounded() throws {
    let rejection = try rejection()
    #expect(rejection.error.message.utf8.count <= 4100 && rejection.error.message.utf8.count > 4000)
    #expect(Rejection(StoredMap(rejection.fields), of: "ann") == rejection)
  }

  @Test func anUnknownCodeOfALaterReleaseIsUnknown() throws {
    var fields = StoredMap(try rejection().fields)
    fields["c"] = .integer(77)
    #expect(Rejection(fields, of: "ann")?.error.code == .unknown)
  }

  /// No damaged record traps, and each that a flipped bit makes invalid is found by the open.
  @Test func damagedRecordsAreFoundByTheOpen() throws {
    let valid = StoredMap(try rejection().fields)
    var damaged: [StoredMap] = [StoredMap()]
    for name in ["b", "c", "e", "n"] {
      var fields = valid
      fields[name] = .null
      damaged.append(fields)
    }
    for (name, value) in [("n", StoredValue.integer(1)), ("n", .integer(-1)), ("n", .integer(.min))] {
      var fields = valid
      fields[name] = value
      damaged.append(fields)
    }
    guard case .bytes(let bytes)? = valid["b"] else { return }
    for count in bytes.indices {
      var fields = valid
      fields["b"] = .bytes(Array(bytes[..<count]))
      damaged.append(fields)
    }
    #expect(damaged.filter { Rejection($0, of: "ann") != nil }.count == 0)
    var random = SeededRandom(seed: 1)
    for _ in 0..<20_000 {
      var mutated = bytes
      for _ in 0...random.below(3) { mutated[random.below(mutated.count)] ^= 1 << UInt8(random.below(8)) }
      var fields = valid
      fields["b"] = .bytes(mutated)
      _ = Rejection(fields, of: "ann")?.paths
    }
    let store = try DocumentStore.openInMemory()
    let time = SnapshotVersion.none.timestamp
    let local = try LocalStore(store, user: "ann", collector: .lru, client: "client")
    try local.flush()
    for (name, fields) in [("=ann:7", damaged[1]), ("=ann:8", valid), ("ann:7", valid), ("=ann", valid)] {
      let path = DocumentPath(unchecked: ["__rejections__", name])
      try store.commit([
        .place(StoredDocument(path: path, createTime: time, updateTime: time, fields: fields))
      ])
      #expect { _ = try LocalStore(store, user: "ann", collector: .lru, client: "client") } throws: { error in
        if case DocumentStoreError.corrupted = error { true } else { false }
      }
      try store.commit([.delete(path)])
    }
    _ = try LocalStore(store, user: "ann", collector: .lru, client: "client")
  }
}
