// Stores that are read beside their writer.

import ByteStore
import Dispatch
import Harness
import Testing

@testable import DocumentStore

/// The documents of the collection `rooms`: their numbers by id.
private typealias Rooms = [String: Int64]

private func rooms(_ documents: [StoredDocument]) -> Rooms {
  var rooms: Rooms = [:]
  for document in documents {
    if case .integer(let number) = document.fields["n"] { rooms[document.path.id] = number }
  }
  return rooms
}

private func openReader(on disk: SimulatedDisk) throws -> DocumentStore {
  var options = DocumentStore.Options()
  options.isReadOnly = true
  return try DocumentStore.open("/store", options: options, platform: disk.platform(seed: 2))
}

/// Each writer of a test needs its own seed, because the ids of its files come from it.
private func openWriter(on disk: SimulatedDisk, seed: UInt64 = 3) throws -> DocumentStore {
  var options = DocumentStore.Options()
  options.maintenance = .manual
  return try DocumentStore.open("/store", options: options, platform: disk.platform(seed: seed))
}

private func set(_ id: String, _ number: Int64, filling bytes: Int = 0) -> Mutation {
  let filler = StoredValue.bytes([UInt8](repeating: 7, count: bytes))
  return .set(path("rooms", id), StoredMap([("n", .integer(number)), ("filler", filler)]))
}

/// Logs the sync of the last commits, as happens when a store is idle.
private func becomeIdle(_ store: DocumentStore) { while store.bytes.performMaintenance() {} }

@Suite struct ReaderTests {
  private let all = StructuredQuery(.collection(path("rooms", "x").parent))

  private func numbers(_ store: DocumentStore) throws -> Rooms { rooms(try store.documents(all)) }

  // MARK: What a reader shows

  @Test func aReaderShowsCommitsOnceTheyAreKnownToBeDurable() throws {
    let machine = try SimulatedStore()
    try machine.store.commit([set("a", 1)])
    let reader = try openReader(on: machine.disk)
    #expect(try numbers(reader) == [:], "no later frame records the sync of the commit")
    #expect(reader.readerAge.map { $0.bytesNotDurable > 0 } == true)
    try machine.store.commit([set("b", 2)])
    #expect(try numbers(reader) == [:], "a reader changes only when it is refreshed")
    #expect(try reader.refresh())
    #expect(try numbers(reader) == ["a": 1])
    #expect(try !reader.refresh())
    becomeIdle(machine.store)
    #expect(try reader.refresh())
    #expect(try numbers(reader) == ["a": 1, "b": 2])
    #expect(reader.readerAge?.bytesNotDurable == 0)
    #expect(reader.readerAge?.lastCommit == machine.store.readerTime)
  }

  @Test func bufferedCommitsAppearAfterTheirSync() throws {
    let machine = try SimulatedStore()
    let inProgress = try machine.store.begin([set("a", 1)], durability: .buffered)
    try machine.store.finish(inProgress)
    let reader = try openReader(on: machine.disk)
    try machine.store.finish(try machine.store.begin([set("b", 2)], durability: .buffered))
    #expect(try !reader.refresh(), "nothing is synced")
    becomeIdle(machine.store)
    #expect(try reader.refresh())
    #expect(try numbers(reader) == ["a": 1, "b": 2])
  }

  /// Without a writer, there is no later frame that records the sync.
  @Test func aReaderShowsAllCommitsOfAWriterThatWasKilled() throws {
    let machine = try SimulatedStore()
    try machine.store.commit([set("a", 1)])
    let beside = try openReader(on: machine.disk)
    try machine.store.finish(try machine.store.begin([set("b", 2)], durability: .buffered))
    machine.store.bytes.abandon()
    #expect(try beside.refresh())
    let after = try openReader(on: machine.disk)
    #expect(try [beside, after].map(numbers) == [["a": 1, "b": 2], ["a": 1, "b": 2]])
    let recovered = try machine.afterPowerLoss().store
    #expect(try numbers(recovered) == ["a": 1, "b": 2], "the reader has synced what it shows")
    try recovered.close()
  }

  @Test func readersAndAWriterDoNotExcludeEachOther() throws {
    let machine = try SimulatedStore()
    try machine.store.commit([set("a", 1)])
    try machine.store.close()
    let first = try openReader(on: machine.disk)
    let second = try openReader(on: machine.disk)
    let store = try openWriter(on: machine.disk)
    guard case .locked = failure(of: { try openWriter(on: machine.disk) }) else {
      Issue.record("a second writer was accepted")
      return
    }
    try store.commit([set("b", 2)])
    try store.close()
    for reader in [first, second] { try reader.refresh() }
    #expect(try [first, second].map(numbers) == [["a": 1, "b": 2], ["a": 1, "b": 2]])
    guard case .failedPrecondition = failure(of: { try first.commit([set("c", 3)]) }) else {
      Issue.record("a reader accepted a commit")
      return
    }
    try first.close()
    try second.close()
  }

  @Test func aReaderChangesNothing() throws {
    let machine = try SimulatedStore()
    for number in 0..<40 { try machine.store.commit([set("\(number % 7)", Int64(number), filling: 4000)]) }
    try machine.store.bytes.flush()
    try machine.store.commit([set("last", 1)])
    let before = machine.disk.image
    let reader = try openReader(on: machine.disk)
    try reader.refresh()
    let byNumber = try all.ordered(by: OrderBy(field("n")))
    #expect(try reader.documents(byNumber).count == 7)
    try reader.close()
    let after = machine.disk.image
    #expect(before.paths.sorted() == after.paths.sorted())
    #expect(before.paths.filter { before.contents(of: $0)?.bytes != after.contents(of: $0)?.bytes } == [])
  }

  // MARK: Following

  @Test func aReaderThatWasLeftBehindOpensTheFilesAgain() throws {
    let machine = try SimulatedStore()
    try machine.store.commit([set("a", 1), set("gone", 2)])
    becomeIdle(machine.store)
    let reader = try openReader(on: machine.disk)
    let queue = DispatchQueue(label: "listener")
    let states = Locked<[Rooms]>([])
    let registration = try reader.listen(to: all, on: queue) { result in
      guard let snapshot = try? result.get() else { return }
      states.withLock { $0.append(rooms(Array(snapshot.documents))) }
    }
    let before = try reader.snapshot()
    try machine.store.commit([.delete(path("rooms", "gone"))])
    for number in 0..<300 { try machine.store.commit([set("b", Int64(number), filling: 1000)]) }
    try machine.store.compact()
    try machine.store.commit([set("c", 3)])
    try machine.store.compact()
    #expect(try reader.refresh())
    let now: Rooms = ["a": 1, "b": 299, "c": 3]
    #expect(try numbers(reader) == now)
    try reader.checkInvariants()
    queue.sync {}
    #expect(states.withLock { $0 } == [["a": 1, "gone": 2], now], "one change, and not the states between")
    #expect(rooms(try before.documents(all)) == ["a": 1, "gone": 2], "a snapshot stays as it was")
    registration.remove()
  }

  @Test func aReaderNoticesThatTheStoreIsGoneOrAnother() throws {
    let machine = try SimulatedStore()
    try machine.store.commit([set("a", 1)])
    try machine.store.close()
    let reader = try openReader(on: machine.disk)
    let directory = try machine.disk.openDirectory("/store")
    for name in try directory.names() { try directory.remove(name) }
    guard case .notAStore = failure(of: { try reader.refresh() }) else {
      Issue.record("a missing store was not noticed")
      return
    }
    #expect(try numbers(reader) == ["a": 1], "the reader still shows what it has")
    let other = try DocumentStore.open(
      "/store", options: DocumentStore.Options(), platform: machine.disk.platform(seed: 77))
    try other.commit([set("b", 1)])
    guard case .failedPrecondition = failure(of: { try reader.refresh() }) else {
      Issue.record("another store was not noticed")
      return
    }
    try other.close()
  }

  /// The copy has flushed everything that the byte store could compare. Its commits are more, and later.
  @Test func aCopyThatWasWrittenFurtherWithOtherShapesIsNoticed() throws {
    let machine = try SimulatedStore()
    try machine.store.commit([set("a", 1)])
    becomeIdle(machine.store)
    let copy = machine.disk.image
    for number in Int64(2)..<5 { try machine.store.commit([set("a", number)]) }
    becomeIdle(machine.store)
    let reader = try openReader(on: machine.disk)
    try machine.store.close()
    let directory = try machine.disk.openDirectory("/store")
    for name in try directory.names() where name != "LOCK" { try directory.remove(name) }
    for path in copy.paths where path.hasPrefix("/store/") && path != "/store/LOCK" {
      let bytes = try #require(copy.contents(of: path)).bytes
      _ = try directory.createFile(String(path.dropFirst("/store/".count))).write(bytes.span.bytes, at: 0)
    }
    let other = try openWriter(on: machine.disk)
    for number in Int64(2)..<9 {
      try other.commit([.set(path("rooms", "a"), StoredMap([("other", .integer(number))]))])
    }
    try other.compact()
    let shapes = [reader, other].map { $0.layer.shapes.table.shapes.compactMap { $0?.id } }
    try #require(shapes[0] == [0] && shapes[1] == [0], "the shapes have the same id")
    guard case .failedPrecondition = failure(of: { try reader.refresh() }) else {
      Issue.record("the other history was shown")
      return
    }
    #expect(try numbers(reader) == ["a": 4])
    try other.close()
  }

  @Test func aRefusedCommitOfAReaderGivesNoShapeAnID() throws {
    let machine = try SimulatedStore()
    try machine.store.commit([set("a", 1)])
    let reader = try openReader(on: machine.disk)
    let other = Mutation.set(path("rooms", "b"), StoredMap([("only", .integer(1))]))
    for _ in 0..<3 {
      let refusal = failure { try reader.commit([other]) }
      #expect(refusal?.description == DocumentStoreError(.readOnly(directory: "/store")).description)
    }
    for number in Int64(2)..<6 { try machine.store.commit([set("a", number)]) }
    becomeIdle(machine.store)
    try reader.refresh()
    #expect(try numbers(reader) == ["a": 5])
    try machine.store.close()
  }

  @Test func damageBetweenAcknowledgedCommitsIsReported() throws {
    let machine = try SimulatedStore()
    for number in 0..<3 { try machine.store.commit([set("a", Int64(number))]) }
    becomeIdle(machine.store)
    let file = try machine.disk.openDirectory("/store").openFile("log-0000000001", .readAndWrite)
    _ = try file.write([0xFF].span.bytes, at: 4096 + 40)
    guard case .corrupted = failure(of: { try openReader(on: machine.disk) }) else {
      Issue.record("an older state was shown instead of the damage")
      return
    }
  }

  /// A writer commits, flushes, compacts, is idle, crashes and is opened again. At each refresh, a reader
  /// must show the state after some commit, later than at the refresh before, and never a state that a power
  /// loss takes back.
  @Test(arguments: 0..<60)
  func aReaderShowsOneCommittedStateAfterTheOther(seed: Int) throws {
    var history = try ReaderHistory(seed: UInt64(seed))
    for _ in 0..<150 { try history.step() }
    try history.end()
    #expect(history.problems == [])
    #expect(history.refreshes > 5)
  }
}

extension DocumentStore {
  /// The time of the last commit.
  fileprivate var readerTime: StoredTimestamp? {
    StoredTimestamp(microseconds: Int64(bitPattern: bytes.lastStamp))
  }
}

/// A random history of a writer and a reader beside it.
private struct ReaderHistory {
  private let disk: SimulatedDisk
  private var store: DocumentStore
  private let reader: DocumentStore
  private var random: SeededRandom
  private let all = StructuredQuery(.collection(path("rooms", "x").parent))
  private let queue = DispatchQueue(label: "listener")
  private let heard = Locked<[Rooms]>([])
  /// The state after each commit, by the time of the commit.
  private var states: [UInt64: Rooms] = [0: [:]]
  private var now: Rooms = [:]
  private var shown: UInt64 = 0
  private(set) var refreshes = 0
  private(set) var problems: [String] = []

  init(seed: UInt64) throws {
    let machine = try SimulatedStore()
    disk = machine.disk
    store = machine.store
    try store.createIndex(IndexDefinition("rooms", .collection, [.init(field("n"))]))
    becomeIdle(store)
    random = SeededRandom(seed: seed)
    reader = try openReader(on: disk)
    states[store.bytes.lastStamp] = [:]
    let heard = heard
    _ = try reader.listen(to: all, on: queue) { result in
      heard.withLock { $0.append((try? rooms(Array(result.get().documents))) ?? ["failed": 0]) }
    }
  }

  mutating func step() throws {
    switch random.below(24) {
    case 0..<12: try commit(.synced)
    case 12: try commit(.buffered)
    case 13: try store.bytes.flush()
    case 14: try store.compact()
    case 15, 16: becomeIdle(store)
    case 17: try losePower()
    case 18: try openAgain()
    default: try refresh()
    }
  }

  mutating func end() throws {
    // The first commit of a writer seals the log of a writer that was killed.
    try commit(.synced)
    try store.close()
    try refresh()
    if rooms(try reader.documents(all)) != now { problems.append("the last state is not shown") }
    try reader.close()
  }

  private mutating func commit(_ durability: StoreDurability) throws {
    var mutations: [Mutation] = []
    for _ in 0...random.below(3) {
      let id = "\(random.below(9))"
      if random.oneIn(4) {
        mutations.append(.delete(path("rooms", id)))
        now[id] = nil
      } else {
        let number = Int64(random.below(1000))
        mutations.append(set(id, number, filling: random.below(6000)))
        now[id] = number
      }
    }
    try store.finish(try store.begin(mutations, durability: durability))
    states[store.bytes.lastStamp] = now
  }

  /// Everything that a reader has shown must survive any power loss.
  private mutating func losePower() throws {
    let survivors = Survivors.allCases[random.below(Survivors.allCases.count)]
    let image = disk.image(after: .powerLoss(survivors, seed: random.next()))
    let recovered = try SimulatedStore(image).store
    if recovered.bytes.lastStamp < shown { problems.append("a power loss took back a state that was shown") }
    try recovered.close()
  }

  /// Ends the writer, with a close or as if the process had been killed, and begins another one.
  private mutating func openAgain() throws {
    if random.oneIn(2) { try store.close() } else { store.bytes.abandon() }
    store = try openWriter(on: disk, seed: random.next())
  }

  private mutating func refresh() throws {
    refreshes += 1
    try reader.refresh()
    let stamp = reader.bytes.lastStamp
    if stamp < shown { problems.append("the reader went back from \(shown) to \(stamp)") }
    shown = stamp
    guard let state = states[stamp] else {
      problems.append("no commit has time \(stamp)")
      return
    }
    let found = rooms(try reader.documents(all))
    if found != state { problems.append("\(found) instead of \(state)") }
    let sorted = try reader.documents(try all.ordered(by: OrderBy(field("n")))).map {
      rooms([$0]).values.first
    }
    if sorted != state.values.sorted() { problems.append("by number: \(sorted)") }
    queue.sync {}
    if let last = heard.withLock({ $0.last }), last != state { problems.append("heard \(last)") }
    try reader.checkInvariants()
  }
}
