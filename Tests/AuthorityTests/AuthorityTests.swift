// One authority for each open store.

import Authority
import ByteStore
import DocumentStore
import FirebaseFirestore
import Harness
import OfflineSync
import Testing

@Suite struct AuthorityOfStoreTests {
  private static let room = DocumentPath(unchecked: ["rooms", "1"])

  private func code(_ body: () throws(DocumentStoreError) -> Authority) -> String {
    do throws(DocumentStoreError) {
      _ = try body()
      return "none"
    } catch {
      return "\(RemoteError(error).code)"
    }
  }

  @Test func aStoreHasOneAuthorityWhileItLives() throws {
    let store = try DocumentStore.openInMemory()
    var first: Authority? = try Authority.of(store)
    #expect(try Authority.of(store) === first)
    weak let released = first
    first = nil
    #expect(released == nil, "the store does not retain it")
    let second = try Authority.of(store)
    #expect(second.store === store)
    let other = try Authority.of(try DocumentStore.openInMemory())
    #expect(other !== second)
  }

  @Test func theOptionsOfTheFirstCallHold() throws {
    let store = try DocumentStore.openInMemory()
    var options = AuthorityOptions()
    options.rules.mayWrite = { _, _ in RemoteError(.permissionDenied) }
    let authority = try Authority.of(store, options: options)
    _ = try Authority.of(store)
    #expect(throws: RemoteError(.permissionDenied)) { try authority.commit([.delete(Self.room)], as: nil) }
    authority.setRules(AuthorityRules())
    _ = try authority.commit([.delete(Self.room)], as: nil)
  }

  @Test func whatCannotBeAnAuthorityIsRefused() throws {
    let closed = try DocumentStore.openInMemory()
    try closed.close()
    #expect(code { () throws(DocumentStoreError) in try Authority.of(closed) } == "unavailable")

    let disk = SimulatedDisk()
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let writer = try DocumentStore.open("/store", options: options, platform: disk.platform(seed: 1))
    options.isReadOnly = true
    let reader = try DocumentStore.open("/store", options: options, platform: disk.platform(seed: 2))
    #expect(code { () throws(DocumentStoreError) in try Authority.of(reader) } == "failedPrecondition")
    _ = try Authority.of(writer)

    let cache = try DocumentStore.openInMemory()
    _ = try LocalStore(cache, user: nil, collector: .lru, client: "client")
    #expect(code { () throws(DocumentStoreError) in try Authority.of(cache) } == "failedPrecondition")
  }

  /// The consumer of earlier versions would keep the feed active without need.
  @Test func theFeedConsumerOfEarlierVersionsIsReplaced() throws {
    let store = try DocumentStore.openInMemory()
    _ = try store.feedConsumer("__loopback__")
    _ = try Authority.of(store)
    #expect(store.feedConsumers == ["__authority__"])
  }

  @Test func remotesOfOneStoreHearOfEachOtherAndOfTheApp() throws {
    let world = try LoopbackWorld()
    let other = try LoopbackRemote(
      authority: world.authority, faults: LoopbackFaults(), seed: 2, on: world.scheduler)
    let lines = Locked<[String]>([])
    let stream = other.openWatchStream(as: nil) { event in
      lines.withLock { $0.append(WatchText.of(event)) }
    }
    stream.watch(WatchTarget(TargetID(2), StructuredQuery(.document(Self.room))))
    world.pass(seconds: 1)
    let opened = ["opened", "added 2", "rooms/1 gone out 2", "current 2", "snapshot"]
    #expect(lines.withLock { $0 } == opened)
    try world.authority.commit([.set(Self.room, StoredMap([("n", .integer(1))]))])
    world.pass(seconds: 1)
    world.remote.commit([.set(Self.room, StoredMap([("n", .integer(2))]))], as: nil) { _ in }
    world.pass(seconds: 1)
    #expect(
      lines.withLock { $0 }.dropFirst(opened.count)
        == ["rooms/1=1 in 2", "snapshot", "rooms/1=2 in 2", "snapshot"])
    stream.close()
  }

  /// A session that nothing retains must not follow the store.
  @Test func sessionsEndWithTheirLastReference() throws {
    let world = try SessionWorld()
    var client: SessionClient? = world.client()
    client?.watch(2, SessionWorld.rooms)
    _ = client?.messages()
    weak let session = client?.session
    #expect(session != nil)
    client = nil
    #expect(session == nil)
    try world.commit(["a": 1])
    world.scheduler.play(for: 0)
  }
}
