// The events and measurements of a client of a remote.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct InstrumentedDriverTests {
  private let world: LoopbackWorld
  private let disk = SimulatedDisk()
  private let instruments = RecordedInstruments()

  init() throws { world = try LoopbackWorld() }

  private func client() throws -> SyncDriver {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.instruments = instruments
    let store = try DocumentStore.open("/client", options: options, platform: disk.platform(seed: 1))
    let local = try LocalStore(store, user: nil, collector: .lru, client: "client")
    return SyncDriver(local, world.remote, options: SyncEngine.Options(), scheduler: world.scheduler)
  }

  private func write(_ id: String, _ client: SyncDriver) {
    client.write([.set(DocumentPath(unchecked: ["rooms", id]), StoredMap())], .local) { _ in }
  }

  /// The streams of the events with this name.
  private func streams(_ name: InstrumentName) -> [InstrumentEvent.Value?] {
    instruments.events(name).map { $0["stream"] }
  }

  @Test func pendingWritesAreMeasuredFromTheQueueToTheAnswer() throws {
    let client = try client()
    let counts = Locked<[Int]>([])
    client.send(.disableNetwork)
    for id in ["a", "b"] {
      client.write([.set(DocumentPath(unchecked: ["rooms", id]), StoredMap())], .local) { _ in
        counts.withLock { $0.append(client.pendingWriteCount) }
      }
      world.pass()
    }
    #expect(counts.withLock { $0 } == [1, 2] && client.pendingWriteCount == 2)
    client.waitForPendingWrites { _ in counts.withLock { $0.append(client.pendingWriteCount) } }
    client.send(.enableNetwork)
    world.pass()
    #expect(counts.withLock { $0 } == [1, 2, 0] && client.pendingWriteCount == 0)
    #expect(instruments.values(.pendingWrites).first == 1 && instruments.values(.pendingWrites).last == 0)
    #expect(instruments.values(.pendingWrites).max() == 2)
  }

  @Test func writesOfAnEarlierRunArePendingAfterTheOpen() throws {
    let first = try client()
    first.send(.disableNetwork)
    write("a", first)
    world.pass()
    #expect(first.pendingWriteCount == 1)
    let copy = SimulatedDisk(disk.image(after: .kill))
    first.abandon()
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let reopened = try DocumentStore.open("/client", options: options, platform: copy.platform(seed: 2))
    let local = try LocalStore(reopened, user: nil, collector: .lru, client: "client")
    world.remote.setReachable(false)
    let second = SyncDriver(local, world.remote, options: SyncEngine.Options(), scheduler: world.scheduler)
    world.pass(seconds: 0)
    #expect(second.pendingWriteCount == 1)
  }

  @Test func aRejectedWriteIsReportedWithItsReason() throws {
    var rules = LoopbackRules()
    rules.mayWrite = { _, _ in RemoteError(.permissionDenied, "not for you") }
    world.remote.setRules(rules)
    let client = try client()
    write("a", client)
    world.pass()
    let event = try #require(instruments.events(.syncWriteRejected).first)
    #expect(instruments.events(.syncWriteRejected).count == 1 && event.level == .warning)
    #expect(event["code"] == .text("permissionDenied") && event["error"] == .text("not for you"))
    #expect(event["documents"] == .integer(1))
    #expect(!event.description.contains("rooms"), "the event names no document")
  }

  @Test func streamsAreReportedWhenTheyOpenAndWhenTheRemoteClosesThem() throws {
    let client = try client()
    let rooms = StructuredQuery(.collection(try CollectionPath(["rooms"])))
    _ = client.listen(to: rooms, ListenRules()) { _ in }
    world.pass(seconds: 1)
    #expect(streams(.syncConnected).contains(.text("watch")) && streams(.syncDisconnected) == [])
    world.remote.setReachable(false)
    world.pass(seconds: 1)
    #expect(streams(.syncDisconnected).first == .text("watch"))
    let event = try #require(instruments.events(.syncDisconnected).first)
    #expect(event.level == .warning && event["error"] != .text("none"))
    world.remote.setReachable(true)
    write("a", client)
    world.pass()
    #expect(streams(.syncConnected).contains(.text("write")))
  }

  @Test func onlyLastingListenersAreCounted() throws {
    let client = try client()
    let rooms = StructuredQuery(.collection(try CollectionPath(["rooms"])))
    client.first(rooms) { _ in }
    world.pass()
    #expect(client.listenerCount == 0 && instruments.events(.listenerAdded) == [])
    let first = client.listen(to: rooms, ListenRules()) { _ in }
    let second = client.listen(to: rooms, ListenRules()) { _ in }
    world.pass()
    #expect(client.listenerCount == 2)
    #expect(instruments.events(.listenerAdded).map { $0["collection"] } == [.text("rooms"), .text("rooms")])
    client.unlisten(first)
    client.unlisten(first)
    client.unlisten(second)
    world.pass()
    #expect(client.listenerCount == 0 && instruments.events(.listenerRemoved).count == 2)
    #expect(instruments.values(.listeners) == [1, 2, 1, 0])
  }
}
