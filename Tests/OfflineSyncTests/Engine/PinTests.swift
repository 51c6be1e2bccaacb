// Pinned queries: targets without a listener, across restarts and users, within a budget.

import Authority
import ByteStore
import DocumentStore
import Harness
import Testing

@testable import OfflineSync

@Suite struct PinTests {
  private let world: LoopbackWorld
  private let disk = SimulatedDisk()
  private let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))

  init() throws {
    world = try LoopbackWorld()
    try add(1...10)
  }

  private func add(_ numbers: ClosedRange<Int>, _ text: String = "text") throws {
    for number in numbers {
      let path = DocumentPath(unchecked: ["rooms", "\(number)"])
      try world.authority.commit([.set(path, StoredMap([("text", .string(text))]))])
    }
    world.remote.refresh()
  }

  private func pin(
    _ query: StructuredQuery, _ client: SyncDriver, within budget: PinLimits = PinLimits(),
    seconds: Int64 = 100
  ) throws {
    let outcome = Locked<OfflineSyncError??>(nil)
    client.pin(query, budget) { error in outcome.withLock { $0 = .some(error) } }
    world.pass(seconds: seconds)
    if let error = try #require(outcome.withLock { $0 }) { throw error }
  }

  private func unpin(_ query: StructuredQuery, _ client: SyncDriver) throws {
    let outcome = Locked<OfflineSyncError??>(nil)
    client.unpin(query) { error in outcome.withLock { $0 = .some(error) } }
    world.pass()
    if let error = try #require(outcome.withLock { $0 }) { throw error }
  }

  private func states(_ client: SyncDriver) throws -> [PinState] {
    try #require(world.ask(client) { try? $0.pinStates() } ?? nil)
  }

  /// The number of documents of the collection in the cache.
  private func cachedCount(_ client: SyncDriver) throws -> Int { try client.store.documents(rooms).count }

  private func listen(to query: StructuredQuery, _ client: SyncDriver) -> (ListenerID, Locked<[ViewSnapshot]>)
  {
    let snapshots = Locked<[ViewSnapshot]>([])
    let id = client.listen(to: query, ListenRules(includesMetadataChanges: true)) { result in
      if case .success(let snapshot) = result { snapshots.withLock { $0.append(snapshot) } }
    }
    return (id, snapshots)
  }

  // MARK: Watching

  @Test func aPinnedQueryStaysInSyncWithoutAListener() throws {
    let client = try world.client(on: disk)
    try pin(rooms, client)
    #expect(try cachedCount(client) == 10)
    // The watch stream of a client without targets is closed after a minute.
    world.pass(seconds: 3600)
    try add(11...12)
    world.pass()
    #expect(try cachedCount(client) == 12)
    #expect(try states(client).map(\.documentCount) == [12])
    let state = try #require(world.ask(client) { $0.syncProgress.queries.first } ?? nil)
    #expect(state.isPinned && !state.isListening && state.isCurrent && state.documentCount == 12)
    try unpin(rooms, client)
    #expect(try states(client).isEmpty)
    try add(13...13)
    world.pass()
    #expect(try cachedCount(client) == 12)
  }

  @Test func aPinIsWatchedAgainAfterARestartAndResumes() throws {
    let first = try world.client(on: disk)
    try pin(rooms, first, within: PinLimits(documentsMax: 100, bytesMax: 1 << 20))
    first.stop()
    try first.store.close()
    try add(11...11)
    let second = try world.client(on: disk)
    world.pass()
    #expect(try cachedCount(second) == 11)
    let pins = try states(second)
    #expect(pins.map(\.pin.query) == [rooms])
    #expect(pins.first?.pin.budget == PinLimits(documentsMax: 100, bytesMax: 1 << 20))
    let state = try #require(world.ask(second) { $0.syncProgress.queries.first } ?? nil)
    #expect(state.isResumed && state.receivedCount == 1)
    #expect(second.isIdle && second.remainingWork == nil)
  }

  @Test func aListenerOfACurrentPinIsInSyncAtOnceAndLeavesThePin() throws {
    let client = try world.client(on: disk)
    try pin(rooms, client)
    let (id, snapshots) = listen(to: rooms, client)
    world.pass(seconds: 0)
    #expect(snapshots.withLock { $0.map(\.isFromCache) } == [false])
    #expect(snapshots.withLock { $0.map { Array($0.documents).count } } == [10])
    client.unlisten(id)
    try add(11...11)
    world.pass(seconds: 200)
    #expect(try cachedCount(client) == 11)
    // A listener that is there before the pin keeps its target when the pin is removed.
    let (_, later) = listen(to: rooms, client)
    world.pass()
    try unpin(rooms, client)
    try add(12...12)
    world.pass()
    #expect(later.withLock { $0.last.map { Array($0.documents).count } } == 12)
    #expect(try #require(world.ask(client) { (try? $0.brokenInvariant()) ?? nil }) == nil)
  }

  @Test func aListenerOfALoadingPinGetsTheWholeResult() throws {
    var faults = LoopbackFaults()
    faults.latency = 100_000...200_000
    world.remote.setFaults(faults)
    let client = try world.client(on: disk)
    try pin(rooms, client, seconds: 1)
    let (_, snapshots) = listen(to: rooms, client)
    world.pass()
    #expect(snapshots.withLock { $0.last?.isFromCache } == false)
    #expect(snapshots.withLock { $0.last.map { Array($0.documents).count } } == 10)
  }

  @Test func aDocumentThatAPinHidesIsResolvedForALaterListener() throws {
    let client = try world.client(on: disk)
    let (id, _) = listen(to: rooms, client)
    world.pass()
    client.unlisten(id)
    world.pass(seconds: 200)
    // The document leaves the narrow query while only the wide one has it in the cache.
    let narrow = try rooms.filtered(by: .field(StoredFieldPath(unchecked: ["text"]), .equal, .string("text")))
    let path = DocumentPath(unchecked: ["rooms", "3"])
    try world.authority.commit([.set(path, StoredMap([("text", .string("other"))]))])
    try pin(narrow, client)
    #expect(try states(client).map(\.documentCount) == [9])
    let (_, snapshots) = listen(to: narrow, client)
    world.pass()
    #expect(snapshots.withLock { $0.last?.isFromCache } == false)
    #expect(snapshots.withLock { $0.last.map { Array($0.documents).count } } == 9)
  }

  @Test func aCacheListenerThatIsLeftDoesNotEndThePin() throws {
    let client = try world.client(on: disk)
    try pin(rooms, client)
    let (id, _) = listen(to: rooms, client)
    _ = client.listen(to: rooms, ListenRules(isCacheOnly: true)) { _ in }
    world.pass()
    client.unlisten(id)
    try add(11...11)
    world.pass()
    #expect(try cachedCount(client) == 11)
  }

  @Test func aListenerThatEndsReleasesItsDocumentsAndKeepsThePin() throws {
    let client = try world.client(on: disk)
    try pin(rooms, client)
    let (id, _) = listen(to: rooms, client)
    world.pass()
    try add(11...11)
    world.pass()
    #expect(world.ask(client) { $0.local.pinCounts.count } == 1)
    client.unlisten(id)
    #expect(world.ask(client) { $0.local.pinCounts.count } == 0)
    #expect(try states(client).map(\.documentCount) == [11])
  }

  @Test func anEagerCollectorRemovesTheDocumentsWithThePin() throws {
    let client = SyncDriver(
      try LocalStore(DocumentStore.openInMemory(), user: nil, collector: .eager, client: "client"),
      world.remote, options: SyncEngine.Options(), scheduler: world.scheduler)
    try pin(rooms, client)
    #expect(try cachedCount(client) == 10)
    try unpin(rooms, client)
    #expect(try cachedCount(client) == 0)
  }

  @Test func aUserPinsSeveralQueries() throws {
    let client = try world.client(on: disk)
    let few = try rooms.limited(to: .first(2))
    try pin(rooms, client)
    try pin(few, client)
    try pin(rooms, client, within: PinLimits(documentsMax: 50))
    #expect(try states(client).map(\.pin.query) == [rooms, few])
    #expect(try states(client).map(\.documentCount) == [10, 2])
    try unpin(rooms, client)
    #expect(try states(client).map(\.pin.query) == [few])
    try pin(rooms, client)
    #expect(try states(client).map(\.pin.query) == [few, rooms])
  }

  @Test func aLoadingPinIsRemainingWork() throws {
    var faults = LoopbackFaults()
    faults.latency = 1_000_000...1_000_000
    world.remote.setFaults(faults)
    let client = try world.client(on: disk)
    var works: Set<String?> = []
    client.pin(rooms, PinLimits()) { _ in }
    for _ in 0..<50 {
      world.scheduler.play(for: 100_000)
      works.insert(client.remainingWork)
    }
    #expect(works.contains("the remote's answer to a pinned query"))
    world.pass()
    #expect(client.remainingWork == nil)
  }

  // MARK: Users

  @Test func pinsBelongToTheUserWhoPinned() throws {
    var rules = LoopbackRules()
    let users = Locked<[String]>([])
    rules.mayRead = { user, _ in
      users.withLock { $0.append(user ?? "-") }
      return nil
    }
    world.remote.setRules(rules)
    let client = try world.client(on: disk)
    client.send(.changeUser("ann"))
    try pin(rooms, client)
    #expect(users.withLock { $0 } == ["ann"])
    client.send(.changeUser("bob"))
    world.pass(seconds: 200)
    #expect(try states(client).isEmpty)
    #expect(world.ask(client) { $0.syncProgress.queries.isEmpty } == true)
    try add(11...11)
    world.pass()
    #expect(try cachedCount(client) == 10)
    #expect(users.withLock { $0 } == ["ann"])
    client.send(.changeUser("ann"))
    world.pass()
    #expect(try cachedCount(client) == 11)
    #expect(users.withLock { $0 } == ["ann", "ann"])
    // Both users pin the query. Each has a record, and unpinning is for one of them.
    client.send(.changeUser("bob"))
    try pin(rooms, client)
    try unpin(rooms, client)
    client.send(.changeUser("ann"))
    world.pass()
    #expect(try states(client).map(\.pin.user) == ["ann"])
  }

  @Test func aRefusedPinStaysWithItsErrorAndIsTriedAgain() throws {
    var rules = LoopbackRules()
    rules.mayRead = { _, _ in RemoteError(.permissionDenied, "no") }
    world.remote.setRules(rules)
    let client = try world.client(on: disk)
    try pin(rooms, client)
    #expect(try states(client).map(\.error?.code) == [.permissionDenied])
    world.remote.setRules(LoopbackRules())
    world.pass(seconds: 200)
    #expect(try cachedCount(client) == 0)
    try pin(rooms, client)
    #expect(try states(client).map(\.error) == [nil])
    #expect(try cachedCount(client) == 10)
  }

  @Test(arguments: [true, false])
  func aPinIsAskedForAgainAfterATemporaryError(isReconnected: Bool) throws {
    var rules = LoopbackRules()
    rules.mayRead = { _, _ in RemoteError(.resourceExhausted, "later") }
    world.remote.setRules(rules)
    let client = try world.client(on: disk)
    try pin(rooms, client, seconds: 10)
    #expect(try states(client).map(\.error?.code) == [.resourceExhausted])
    world.remote.setRules(LoopbackRules())
    if isReconnected {
      client.send(.disableNetwork)
      client.send(.enableNetwork)
      world.pass(seconds: 10)
    } else {
      // Without another target, the stream is replaced when it is idle.
      world.pass(seconds: 200)
    }
    #expect(try states(client).map(\.error) == [nil])
    #expect(try cachedCount(client) == 10)
    try add(11...11)
    world.pass()
    #expect(try cachedCount(client) == 11)
  }

  @Test func aListenerOfAPinThatWaitsIsServedAndLeavesThePin() throws {
    var rules = LoopbackRules()
    rules.mayRead = { _, _ in RemoteError(.resourceExhausted, "later") }
    world.remote.setRules(rules)
    let client = try world.client(on: disk)
    try pin(rooms, client, seconds: 10)
    world.remote.setRules(LoopbackRules())
    let (id, snapshots) = listen(to: rooms, client)
    world.pass(seconds: 10)
    #expect(snapshots.withLock { $0.last?.isFromCache } == false)
    client.unlisten(id)
    try add(11...11)
    world.pass(seconds: 200)
    #expect(try cachedCount(client) == 11)
    try unpin(rooms, client)
    #expect(try #require(world.ask(client) { (try? $0.brokenInvariant()) ?? nil }) == nil)
  }

  // MARK: Eviction and budgets

  @Test(arguments: [LocalStore.Collector.lru, .eager])
  func collectionKeepsPinnedDocumentsOfTheCurrentUser(collector: LocalStore.Collector) throws {
    let store = try DocumentStore.openInMemory()
    var options = SyncEngine.Options()
    options.cacheBytesMax = 0
    options.budgets = [CollectionPath(unchecked: ["rooms"]): 0]
    let client = SyncDriver(
      try LocalStore(store, user: nil, collector: collector, client: "client"), world.remote,
      options: options, scheduler: world.scheduler)
    try pin(rooms, client)
    let (id, _) = listen(to: rooms, client)
    world.pass()
    client.unlisten(id)
    let time = try #require(StoredTimestamp(microseconds: world.scheduler.now() + 1_000_000_000_000))
    client.inspect { [rooms] engine in _ = try? engine.evict(rooms, before: time) }
    // The periodic collection runs every five minutes.
    world.pass(seconds: 36_000)
    #expect(try cachedCount(client) == 10)
    client.send(.changeUser("bob"))
    world.pass(seconds: 36_000)
    #expect(try cachedCount(client) == 0)
    client.send(.changeUser(nil))
    world.pass()
    #expect(try cachedCount(client) == 10)
    try unpin(rooms, client)
    world.pass(seconds: 36_000)
    #expect(try cachedCount(client) == 0)
  }

  @Test func aPinOverItsBudgetIsSuspendedUntilItIsRenewed() throws {
    let client = try world.client(on: disk)
    try pin(rooms, client, within: PinLimits(documentsMax: 11))
    #expect(try states(client).map(\.pin.isOverBudget) == [false])
    try add(11...11)
    world.pass()
    #expect(try states(client).map(\.pin.isOverBudget) == [false])
    try add(12...12)
    world.pass()
    #expect(try states(client).map(\.pin.isOverBudget) == [true])
    #expect(world.ask(client) { $0.syncProgress.queries.isEmpty } == true)
    try add(13...13)
    world.pass()
    #expect(try cachedCount(client) == 12)
    client.stop()
    try client.store.close()

    let second = try world.client(on: disk)
    world.pass()
    #expect(try states(second).map(\.pin.isOverBudget) == [true])
    #expect(try cachedCount(second) == 12)
    try pin(rooms, second, within: PinLimits(documentsMax: 13))
    #expect(try states(second).map(\.pin.isOverBudget) == [false])
    #expect(try cachedCount(second) == 13)
    try pin(rooms, second, within: PinLimits(documentsMax: 12))
    #expect(try states(second).map(\.pin.isOverBudget) == [true])
  }

  @Test(arguments: [PinLimits(documentsMax: 3), PinLimits(bytesMax: 10)])
  func aPinWhoseExcessWasNotRecordedIsSuspendedAfterTheNextStart(budget: PinLimits) throws {
    let first = try world.client(on: disk)
    try pin(rooms, first)
    first.stop()
    try first.store.close()
    // A crash between the documents and the record of the pin leaves a pin with too many documents.
    let store = try DocumentStore.open(
      "/client", options: LoopbackWorld.manual, platform: disk.platform(seed: 1))
    let local = try LocalStore(store, user: nil, collector: .lru, client: "client")
    try local.putPin(rooms, budget)
    try store.close()
    let second = try world.client(on: disk)
    world.pass()
    #expect(try states(second).map(\.pin.isOverBudget) == [true])
    #expect(world.ask(second) { $0.syncProgress.queries.isEmpty } == true)
  }

  @Test func aByteBudgetFollowsTheSizesOfTheDocuments() throws {
    let client = try world.client(on: disk)
    try pin(rooms, client)
    let bytes = try #require(try states(client).first?.byteCount)
    #expect(bytes > 100)
    try pin(rooms, client, within: PinLimits(bytesMax: bytes))
    #expect(try states(client).map(\.pin.isOverBudget) == [false])
    // A document shrinks and another one grows.
    try add(1...1, "")
    try add(2...2, "texttext")
    world.pass()
    #expect(try states(client).map(\.byteCount) == [bytes])
    try world.authority.commit([.delete(DocumentPath(unchecked: ["rooms", "3"]))])
    world.remote.refresh()
    world.pass()
    #expect(try #require(try states(client).first?.byteCount) < bytes)
    try add(3...3)
    world.pass()
    #expect(try states(client).map(\.pin.isOverBudget) == [false])
    try add(4...4, "text and more")
    world.pass()
    #expect(try states(client).map(\.pin.isOverBudget) == [true])
  }

  @Test(arguments: [PinLimits(documentsMax: 3), PinLimits(bytesMax: 60)])
  func aFirstLoadStopsAtTheBudget(budget: PinLimits) throws {
    let client = try world.client(on: disk)
    try pin(rooms, client, within: budget)
    #expect(try states(client).map(\.pin.isOverBudget) == [true])
    #expect(try states(client).map(\.documentCount) == [0])
    #expect(try cachedCount(client) < 10)
    // A listener is not bound by the budget of the pin.
    let (_, snapshots) = listen(to: rooms, client)
    world.pass()
    #expect(snapshots.withLock { $0.last.map { Array($0.documents).count } } == 10)
  }

  @Test(arguments: [PinLimits(documentsMax: 2), PinLimits(bytesMax: 100)])
  func aDocumentThatArrivesAgainInAFirstLoadCountsOnce(budget: PinLimits) throws {
    var faults = LoopbackFaults()
    faults.latency = 1_000_000...1_000_000
    world.remote.setFaults(faults)
    let client = try world.client(on: disk)
    client.pin(rooms, budget) { _ in }
    world.scheduler.play(for: 1_500_000)
    let text = rooms.targetID
    let target = try #require(world.ask(client) { $0.local.idsByText[text] } ?? nil)
    #expect(world.ask(client) { $0.watching.phase == .open } == true)
    client.send(.watchChanged(.target(.added, [target]), .none))
    func arrive(_ name: String, at time: Int64) {
      let path = DocumentPath(unchecked: ["rooms", name])
      let document = RemoteDocument(
        path, StoredMap([("text", .string("text"))]), version: SnapshotVersion(microseconds: time))
      client.send(.watchChanged(.document(path, document, updated: [target], removed: []), .none))
    }
    for time in 1...50 { arrive("1", at: Int64(time)) }
    #expect(try states(client).map(\.pin.isOverBudget) == [false])
    for number in 2...50 { arrive("\(number)", at: 100) }
    #expect(try states(client).map(\.pin.isOverBudget) == [true])
  }

  // MARK: The record

  @Test func aDamagedRecordIsReported() throws {
    let client = try world.client(on: disk)
    try pin(rooms, client)
    client.stop()
    try client.store.close()
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open("/client", options: options, platform: disk.platform(seed: 1))
    let path = CacheKeys.pin(1, of: nil)
    let fields = try #require(try store.document(at: path)?.fields)
    func open() throws { _ = try LocalStore(store, user: nil, collector: .lru, client: "client") }
    func change(_ name: String, _ value: StoredValue?) throws {
      var changed = fields
      changed[name] = value
      try store.commit([.set(path, changed)])
    }
    let damages: [(String, StoredValue?)] = [
      ("f", .integer(2)), ("f", nil), ("q", .bytes([1, 0])), ("q", .integer(1)), ("d", .integer(-1)),
      ("b", .string("many")),
    ]
    for (name, value) in damages {
      try change(name, value)
      #expect { try open() } throws: { error in
        if case .corrupted? = error as? DocumentStoreError { true } else { false }
      }
    }
    try store.commit([.set(path, fields)])
    #expect(throws: Never.self) { try open() }
    try store.commit([.set(DocumentPath(unchecked: ["__pins__", "-:x"]), fields)])
    #expect(throws: DocumentStoreError.self) { try open() }
  }

  @Test func aQueryBeyondTheLimitsIsNotPinned() throws {
    let client = try world.client(on: disk)
    let values = StoredValue.array((0..<31).map { .integer(Int64($0)) })
    let query = try rooms.filtered(by: .field(StoredFieldPath(unchecked: ["n"]), .isIn, values))
    #expect(throws: OfflineSyncError.self) { try pin(query, client) }
    let name = String(repeating: "n", count: 1501)
    let map = StoredValue.map(StoredMap([(name, .null)]))
    let unstorable = try rooms.filtered(by: .field(StoredFieldPath(unchecked: ["n"]), .equal, map))
    #expect(throws: OfflineSyncError.self) { try pin(unstorable, client) }
    #expect(try states(client).isEmpty)
    // The client still works.
    try pin(rooms, client)
    #expect(try cachedCount(client) == 10)
  }
}
