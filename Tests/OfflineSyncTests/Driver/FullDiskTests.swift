// A client whose disk is full: it pauses, stays readable, and continues when there is space.

import Authority
import ByteStore
import DocumentStore
import Harness
import Testing

@testable import OfflineSync

@Suite struct FullDiskTests {
  private let world: LoopbackWorld
  private let disk = SimulatedDisk()
  private let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))

  init() throws { world = try LoopbackWorld() }

  private func path(_ id: String) -> DocumentPath { DocumentPath(unchecked: ["rooms", id]) }

  private func fill(_ client: SyncDriver) { client.store.fill(disk) }

  private func empty() { disk.setCapacity(nil) }

  private func put(_ id: String, _ n: Int64) throws {
    _ = try world.authority.commit([.set(path(id), StoredMap([("n", .integer(n))]))])
    world.remote.refresh()
    world.pass(seconds: 2)
  }

  private func client(
    _ sizes: CommitSizes = CommitSizes(), instruments: RecordedInstruments? = nil,
    collector: LocalStore.Collector = .lru
  ) throws -> SyncDriver {
    var options = LoopbackWorld.manual
    options.instruments = instruments
    let store = try DocumentStore.open("/client", options: options, platform: disk.platform(seed: 1))
    let local = try LocalStore(store, user: nil, collector: collector, client: "client", sizes: sizes)
    return SyncDriver(local, world.remote, options: SyncEngine.Options(), scheduler: world.scheduler)
  }

  /// The numbers of the last snapshot, by document, and whether it was cached.
  private final class Seen: @unchecked Sendable {
    // The conformance is unchecked, because a world runs on one thread.
    var numbers: [String: Int64] = [:]
    var isFromCache = true
    var failures: [OfflineSyncError] = []
  }

  private func listen(_ client: SyncDriver, _ query: StructuredQuery? = nil) -> Seen {
    let seen = Seen()
    _ = client.listen(to: query ?? rooms, ListenRules(includesMetadataChanges: true)) { result in
      switch result {
      case .success(let snapshot):
        seen.isFromCache = snapshot.isFromCache
        seen.numbers = [:]
        for document in snapshot.documents { seen.numbers[document.path.id] = document.integer("n") }
      case .failure(let error): seen.failures.append(error)
      }
    }
    world.pass(seconds: 2)
    return seen
  }

  private func delayMessages() {
    var faults = LoopbackFaults()
    faults.latency = 50_000...60_000
    world.remote.setFaults(faults)
  }

  private func broken(_ client: SyncDriver) -> String? {
    world.ask(client) { engine in
      do throws(DocumentStoreError) { return try engine.brokenInvariant() } catch { return "\(error)" }
    } ?? "it cannot be asked"
  }

  @Test func aRemoteEventThatDoesNotFitPausesTheClient() throws {
    let instruments = RecordedInstruments()
    let client = try client(instruments: instruments)
    try put("a", 1)
    let seen = listen(client)
    #expect(seen.numbers == ["a": 1] && !seen.isFromCache)
    fill(client)
    try put("a", 2)
    try put("b", 3)
    #expect(seen.numbers == ["a": 1] && seen.isFromCache && seen.failures.isEmpty)
    #expect(client.isPausedByFullDisk && instruments.events(.syncPaused).count == 1)
    #expect(broken(client) == nil)
    // The cache is readable, also for new listeners.
    let again = listen(client, StructuredQuery(.document(path("a"))))
    #expect(again.numbers == ["a": 1] && again.isFromCache)
    world.pass(seconds: 1000)
    #expect(client.isPausedByFullDisk && instruments.events(.syncPaused).count == 1)
    empty()
    world.pass(seconds: 100)
    #expect(seen.numbers == ["a": 2, "b": 3] && !seen.isFromCache && seen.failures.isEmpty)
    #expect(again.numbers == ["a": 2] && !again.isFromCache)
    #expect(!client.isPausedByFullDisk && instruments.events(.syncResumed).count == 1)
    #expect(broken(client) == nil)
  }

  /// The listeners of the progress are called when the pause begins, and when it ends.
  @Test func thePauseIsReportedWithTheProgress() throws {
    let client = try client()
    try put("a", 1)
    let seen = listen(client)
    let states = Locked<[SyncProgressState]>([])
    _ = client.listenToProgress { result in
      if case .success(let state) = result { states.withLock { $0.append(state) } }
    }
    world.pass(seconds: 1)
    #expect(states.withLock { $0.map(\.pause) } == [nil])
    fill(client)
    try put("a", 2)
    #expect(states.withLock { $0.last?.pause } == .diskFull && seen.numbers == ["a": 1])
    #expect(states.withLock { $0.last?.connection } == .offline && states.withLock { $0.last?.error } == nil)
    // A write that finds no room is not queued, and the pause goes on.
    client.write([.set(path("b"), StoredMap())]) { _ in }
    world.pass(seconds: 1000)
    #expect(states.withLock { $0.last?.pause } == .diskFull && states.withLock { $0.last?.pendingCount } == 0)
    empty()
    world.pass(seconds: 100)
    #expect(states.withLock { $0.last?.pause } == .some(nil) && seen.numbers == ["a": 2])
    #expect(states.withLock { $0.last?.connection } == .connected)
    let pauses = states.withLock { $0.map(\.pause) }
    let changes = zip(pauses, pauses.dropFirst()).filter { $0 != $1 }.map(\.1)
    #expect(changes == [.diskFull, nil])
  }

  /// The delays between two attempts grow.
  @Test func attemptsBecomeRarer() throws {
    let client = try client()
    _ = listen(client)
    fill(client)
    try put("a", 1)
    world.pass(seconds: 60)
    let first = disk.counters.faults
    world.pass(seconds: 600)
    let second = disk.counters.faults - first
    #expect(first >= 3 && second >= 3 && second < 5 * first)
  }

  @Test func aWriteThatDoesNotFitFailsAloneAndALaterOneSucceeds() throws {
    let client = try client()
    let seen = listen(client)
    let outcomes = Locked<[String]>([])
    func write(_ id: String) {
      client.write([.set(path(id), StoredMap([("n", .integer(1))]))]) { error in
        if case .store(.full)? = error {
          outcomes.withLock { $0.append("\(id) full") }
        } else {
          outcomes.withLock { $0.append("\(id) \(error?.description ?? "accepted")") }
        }
      }
      world.pass(seconds: 1)
    }
    write("a")
    fill(client)
    write("b")
    #expect(outcomes.withLock { $0 } == ["a accepted", "b full"])
    #expect(seen.numbers == ["a": 1] && client.pendingWriteCount == 0)
    #expect(broken(client) == nil)
    empty()
    write("c")
    #expect(outcomes.withLock { $0 } == ["a accepted", "b full", "c accepted"])
    world.pass()
    #expect(seen.numbers == ["a": 1, "c": 1] && !seen.isFromCache)
    #expect(try world.authority.document(at: path("b")) == nil)
  }

  /// The answers are held in memory, so the remote is not asked twice.
  @Test func answersThatDoNotFitAreStoredLater() throws {
    let client = try client()
    client.send(.disableNetwork)
    let finished = Locked(0)
    for _ in 0..<3 {
      client.write([increment(path("a"))]) { error in if error == nil { finished.withLock { $0 += 1 } } }
    }
    world.pass(seconds: 1)
    fill(client)
    client.send(.enableNetwork)
    world.pass(seconds: 30)
    // The tokens of the runs have to be stored before a batch is sent.
    #expect(try world.authority.document(at: path("a")) == nil)
    #expect(client.pendingWriteCount == 3 && finished.withLock { $0 } == 0)
    empty()
    // Not so long that the write stream is closed because it is idle.
    world.pass(seconds: 40)
    #expect(try world.authority.document(at: path("a"))?.integer("n") == 3)
    #expect(client.pendingWriteCount == 0 && finished.withLock { $0 } == 3 && broken(client) == nil)

    // The disk becomes full before the answers arrive.
    delayMessages()
    for _ in 0..<3 {
      client.write([increment(path("a"))]) { error in if error == nil { finished.withLock { $0 += 1 } } }
    }
    world.pass(seconds: 0)
    fill(client)
    world.pass(seconds: 30)
    #expect(try world.authority.document(at: path("a"))?.integer("n") == 6)
    #expect(client.pendingWriteCount == 3 && finished.withLock { $0 } == 3 && broken(client) == nil)
    #expect(world.ask(client) { $0.heldAnswers.count } == 3)
    empty()
    world.pass(seconds: 100)
    #expect(client.pendingWriteCount == 0 && finished.withLock { $0 } == 6 && broken(client) == nil)
    #expect(try world.authority.document(at: path("a"))?.integer("n") == 6)
  }

  @Test func aRejectionThatDoesNotFitIsReportedLater() throws {
    let client = try client()
    var rules = LoopbackRules()
    rules.mayWrite = { _, _ in RemoteError(.permissionDenied, "no") }
    world.remote.setRules(rules)
    let rejected = Locked(-1)
    _ = client.listenToRejections { _ in rejected.withLock { $0 += 1 } }
    client.write([.set(path("z"), StoredMap())], .local) { _ in }
    world.pass(seconds: 2)
    delayMessages()
    client.write([.set(path("a"), StoredMap())], .local) { _ in }
    world.pass(seconds: 0)
    fill(client)
    world.pass(seconds: 30)
    #expect(rejected.withLock { $0 } == 0 && client.pendingWriteCount == 1 && broken(client) == nil)
    empty()
    world.pass(seconds: 100)
    #expect(rejected.withLock { $0 } == 1 && client.pendingWriteCount == 0 && broken(client) == nil)
  }

  @Test func callsThatDoNotFitHaveNoEffect() throws {
    let client = try client()
    client.send(.disableNetwork)
    client.write([.set(path("a"), StoredMap([("n", .integer(1))]))], .local) { _ in }
    let seen = listen(client)
    fill(client)
    let errors = Locked<[String]>([])
    for (name, event) in [("cancel", SyncEvent.cancelWrite(BatchID(1))), ("user", .changeUser("ann"))] {
      client.send(event) { error in
        if case .store(.full)? = error { errors.withLock { $0.append(name) } }
      }
    }
    world.pass(seconds: 1)
    #expect(errors.withLock { $0 } == ["cancel", "user"])
    #expect(seen.numbers == ["a": 1] && client.pendingWriteCount == 1 && broken(client) == nil)
    #expect(world.ask(client) { $0.local.user } == .some(nil))
    empty()
    client.send(.changeUser("ann"))
    world.pass(seconds: 1)
    #expect(seen.numbers == [:] && broken(client) == nil)
  }

  /// The disk becomes full after each commit in turn. Memory and store must agree, and the client must
  /// recover.
  @Test(arguments: [false, true]) func everyCommitMayFindTheDiskFull(inParts: Bool) throws {
    let sizes = inParts ? CommitSizes(singleCommitBytesMax: 500, part: 150) : CommitSizes()
    var wasPaused = 0
    var smallMax = Int.max
    for number in 0..<40 {
      let world = try LoopbackWorld()
      let disk = SimulatedDisk()
      let store = try DocumentStore.open(
        "/client", options: LoopbackWorld.manual, platform: disk.platform(seed: 1))
      let local = try LocalStore(
        store, user: nil, collector: .lru, client: "client", run: RunID(1), sizes: sizes)
      let client = SyncDriver(
        local, world.remote, options: SyncEngine.Options(), scheduler: world.scheduler)
      let numbers = Locked<[String: Int64]>([:])
      let failure = Locked<OfflineSyncError?>(nil)
      _ = client.listen(to: rooms, ListenRules()) { result in
        switch result {
        case .success(let snapshot):
          numbers.withLock { numbers in
            numbers = [:]
            for document in snapshot.documents { numbers[document.path.id] = document.integer("n") }
          }
        case .failure(let error): failure.withLock { $0 = error }
        }
      }
      world.pass(seconds: 2)
      let count = store.fill(disk, smallMax: smallMax)
      if number == 0 { smallMax = count }
      // Each history has space for a little more.
      smallMax = max(0, smallMax - (inParts ? 3 : 1))
      client.write([increment(path("0")), increment(path("1"))], .local) { _ in }
      let text = String(repeating: "x", count: 100)
      for id in 0..<8 {
        let fields = StoredMap([("n", .integer(Int64(id))), ("s", .string(text))])
        _ = try world.authority.commit([.set(path("\(id)"), fields)])
      }
      world.remote.refresh()
      world.pass(seconds: 20)
      #expect(failure.withLock { $0 } == nil)
      if client.isPausedByFullDisk { wasPaused += 1 }
      let broken: String?? = world.ask(client) { engine in
        do throws(DocumentStoreError) { return try engine.brokenInvariant() } catch { return "\(error)" }
      }
      #expect(broken == .some(nil), "history \(number)")
      disk.setCapacity(nil)
      world.pass(seconds: 200)
      var expected: [String: Int64] = [:]
      for document in try world.authority.documents(rooms) {
        expected[document.path.id] = document.integer("n")
      }
      #expect(numbers.withLock { $0 } == expected, "history \(number)")
      #expect(!client.isPausedByFullDisk && client.pendingWriteCount == 0, "history \(number)")
      try local.flush()
      let again = try LocalStore(store, user: nil, collector: .lru, client: "client", sizes: sizes)
      #expect(again.targets == local.targets && again.queue.all == local.queue.all, "history \(number)")
      for id in again.targets.keys {
        #expect(try again.remoteKeys(of: id) == local.remoteKeys(of: id), "history \(number)")
      }
      client.abandon()
    }
    #expect(wasPaused > 3)
  }

  @Test func anUnwrittenTargetAndReleasedDocumentsAreStoredLater() throws {
    for collector in [LocalStore.Collector.lru, .eager] {
      let disk = SimulatedDisk()
      let store = try DocumentStore.open(
        "/client", options: LoopbackWorld.manual, platform: disk.platform(seed: 1))
      let local = try LocalStore(store, user: nil, collector: collector, client: "client")
      try put("a", 1)
      let client = SyncDriver(local, world.remote, options: SyncEngine.Options(), scheduler: world.scheduler)
      let id = client.listen(to: rooms, ListenRules()) { _ in }
      world.pass(seconds: 2)
      store.fill(disk)
      client.unlisten(id)
      let document = client.listen(to: StructuredQuery(.document(path("z"))), ListenRules()) { _ in }
      world.pass(seconds: 2)
      #expect(broken(client) == nil)
      disk.setCapacity(nil)
      try put("z", 1)
      client.unlisten(document)
      world.pass(seconds: 200)
      #expect(broken(client) == nil && !client.isPausedByFullDisk)
      _ = client.listen(to: rooms, ListenRules()) { _ in }
      world.pass(seconds: 2)
      let rooms = rooms
      let count = world.ask(client) { (try? $0.local.documents(rooms).count) ?? -1 }
      #expect(count == 2)
      client.abandon()
    }
  }
}
