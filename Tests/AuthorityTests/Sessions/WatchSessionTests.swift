// The messages of a watch session with several targets.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct WatchSessionTests {
  private let world: SessionWorld
  private let client: SessionClient
  private static let rooms = SessionWorld.rooms

  init() throws {
    world = try SessionWorld()
    client = world.client()
  }

  // MARK: Snapshots

  @Test func aCommitIsOneSnapshotOfAllTargets() throws {
    try world.commit(["a": 1, "b": 2, "c": 3])
    client.watch(2, Self.rooms)
    client.watch(4, try SessionWorld.rooms(from: 2))
    client.watch(6, try SessionWorld.first(1))
    #expect(
      client.messages() == [
        "added 2", "rooms/a=1 in 2", "rooms/b=2 in 2", "rooms/c=3 in 2", "current 2",
        "added 4", "rooms/b=2 in 4", "rooms/c=3 in 4", "current 4",
        "added 6", "rooms/a=1 in 6", "current 6", "snapshot",
      ])
    try world.commit(["a": 9, "b": 0, "c": nil, "d": 5])
    #expect(
      client.messages() == [
        "rooms/a=9 in 2,4 out 6", "rooms/b=0 in 2,6 out 4", "rooms/c gone out 2,4", "rooms/d=5 in 2,4",
        "snapshot",
      ])
    #expect(client.times.count == 2 && client.times[0] < client.times[1])
  }

  /// The client knows the document, and its content is the same.
  @Test func aDocumentDisplacedByALimitLeavesWithoutContent() throws {
    try world.commit(["b": 2])
    client.watch(6, try SessionWorld.first(1))
    _ = client.messages()
    try world.commit(["a": 1])
    #expect(client.messages() == ["rooms/a=1 in 6", "rooms/b out 6", "snapshot"])
    try world.commit(["a": nil])
    #expect(client.messages() == ["rooms/a gone out 6", "rooms/b=2 in 6", "snapshot"])
  }

  @Test func aSlowConsumerReceivesTheLatestStateOnly() throws {
    client.watch(2, Self.rooms)
    _ = client.messages()
    for number in 1...50 { try world.commit(["a": Int64(number), "b\(number)": 0, "b\(number - 1)": nil]) }
    #expect(client.messages() == ["rooms/a=50 in 2", "rooms/b50=0 in 2", "snapshot"])
  }

  /// A token of the others' snapshot would promise the new target what it was not sent.
  @Test func aTargetIsAddedInTheSnapshotThatHasItsState() throws {
    client.watch(2, Self.rooms)
    _ = client.messages()
    try world.commit(["a": 1])
    client.watch(4, try SessionWorld.rooms(from: 1))
    try world.commit(["b": 2])
    let lines = client.messages()
    let added = try #require(lines.firstIndex(of: "added 4"))
    let current = try #require(lines.firstIndex(of: "current 4"))
    #expect(!lines[added..<current].contains("snapshot"))
    #expect(lines.last == "snapshot")
    #expect(Set(lines[added..<current].dropFirst()) == ["rooms/a=1 in 4", "rooms/b=2 in 4"])
  }

  @Test func aWriteElsewhereSendsNothingUntilTheTimeIsAskedFor() throws {
    client.watch(2, Self.rooms)
    _ = client.messages()
    let time = try world.store.commit([.set(DocumentPath(unchecked: ["others", "a"]), StoredMap())])
    #expect(client.messages() == [])
    client.session.advance()
    #expect(client.messages() == ["snapshot"])
    #expect(client.times.last == SnapshotVersion(time))
    client.session.advance()
    #expect(client.messages() == [], "the client knows the time")
  }

  @Test func aSessionWithoutTargetsSendsNothing() throws {
    client.session.advance()
    #expect(client.messages() == [])
    client.watch(2, Self.rooms)
    client.unwatch(2)
    #expect(client.messages() == ["added 2", "removed 2"])
    try world.commit(["a": 1])
    client.session.advance()
    #expect(client.messages() == [])
  }

  // MARK: Requests

  @Test func anIdCanBeUsedAgain() throws {
    try world.commit(["a": 1, "b": 2])
    client.watch(2, Self.rooms)
    _ = client.messages()
    try world.commit(["a": 3])
    client.unwatch(2)
    client.watch(2, try SessionWorld.rooms(from: 3))
    #expect(client.messages() == ["removed 2", "added 2", "rooms/a=3 in 2", "current 2", "snapshot"])
  }

  /// A target that ends with its first snapshot is replaced while this snapshot is sent.
  @Test func aTargetWhoseIdIsUsedAgainOutlivesTheSnapshotOfTheOldOne() throws {
    try world.commit(["a": 1])
    let lines = Locked<[String]>([])
    let replace = Locked<(@Sendable () -> Void)?>(nil)
    let session = world.authority.openWatchSession(
      as: nil,
      enqueue: { [scheduler = world.scheduler] block in scheduler.run(block) },
      send: { change, version in
        let line = WatchText.of(change, version)
        lines.withLock { $0.append(line) }
        guard line == "current 2" else { return }
        replace.withLock { action in
          defer { action = nil }
          return action
        }?()
      }, ended: { _ in })
    replace.withLock { action in
      action = { [weak session] in
        session?.unwatch(TargetID(2))
        session?.watch(WatchTarget(TargetID(2), Self.rooms))
      }
    }
    var first = WatchTarget(TargetID(2), Self.rooms)
    first.once = true
    session.watch(first)
    world.scheduler.play(for: 0)
    try world.commit(["b": 2])
    world.scheduler.play(for: 0)
    #expect(
      lines.withLock { $0 } == [
        "added 2", "rooms/a=1 in 2", "current 2", "removed 2",
        "added 2", "rooms/a=1 in 2", "current 2", "snapshot", "rooms/b=2 in 2", "snapshot",
      ])
    session.close()
  }

  @Test func theSessionChoosesAnIdForZero() throws {
    client.watch(2, Self.rooms)
    client.watch(1, Self.rooms)
    client.watch(0, Self.rooms)
    client.watch(0, Self.rooms)
    let added = client.messages().filter { $0.hasPrefix("added") }
    #expect(added == ["added 1", "added 2", "added 3", "added 4"])
  }

  @Test func aTargetThatIsWatchedOnceIsRemovedWhenItIsCurrent() throws {
    try world.commit(["a": 1])
    var target = WatchTarget(TargetID(2), Self.rooms)
    target.once = true
    client.session.watch(target)
    #expect(client.messages() == ["added 2", "rooms/a=1 in 2", "current 2", "snapshot", "removed 2"])
    try world.commit(["a": 2])
    #expect(client.messages() == [])
  }

  /// The client cannot tell the two targets apart, so both end.
  @Test func anIdInUseIsRefused() throws {
    client.watch(2, Self.rooms)
    client.watch(4, Self.rooms)
    _ = client.messages()
    client.watch(2, Self.rooms)
    #expect(client.messages() == ["removed 2 invalidArgument"])
    try world.commit(["a": 1])
    #expect(client.messages() == ["rooms/a=1 in 4", "snapshot"])
  }

  @Test func removingAnUnknownTargetIsQuiet() throws {
    client.unwatch(2)
    #expect(client.messages() == [])
    client.watch(2, Self.rooms)
    #expect(client.messages() == ["added 2", "current 2", "snapshot"])
  }

  @Test func impossibleTargetsAreRefusedAndTheOthersStay() throws {
    client.watch(2, Self.rooms)
    _ = client.messages()
    client.watch(-1, Self.rooms)
    client.watch(4, StructuredQuery(.document(DocumentPath(unchecked: ["__authority__", "life"]))))
    client.watch(6, StructuredQuery(.collection(CollectionPath(unchecked: ["__authority__"]))))
    client.watch(8, StructuredQuery(.collectionGroup("__authority__")))
    client.watch(10, documents: (0...100).map { SessionWorld.room("\($0)") })
    client.watch(12, try Self.rooms.limited(to: .last(1)))
    #expect(
      client.messages() == [-1, 4, 6, 8, 10, 12].map { "removed \($0) invalidArgument" })
    try world.commit(["a": 1])
    #expect(client.messages() == ["rooms/a=1 in 2", "snapshot"])
  }

  /// All listeners of a client share a stream, with its documents in limbo.
  @Test func aStreamHasAThousandTargets() throws {
    for id in 1...1001 { client.watch(Int32(id), Self.rooms) }
    let lines = client.messages()
    #expect(lines.count { $0.hasPrefix("added") } == 1000)
    #expect(lines.filter { $0.hasPrefix("removed") } == ["removed 1001 resourceExhausted"])
    client.unwatch(7)
    client.watch(1001, Self.rooms)
    #expect(client.messages() == ["removed 7", "added 1001", "current 1001", "snapshot"])
    for id in 1...1001 where id != 7 { client.unwatch(Int32(id)) }
    #expect(client.messages().count == 1000)
  }

  /// The answers wait in memory, because the client does not read.
  @Test func aClientThatOnlyAsksIsCutOff() throws {
    for _ in 1...2500 {
      client.watch(2, Self.rooms)
      client.unwatch(2)
    }
    #expect(client.messages().last == "ended resourceExhausted")
  }

  // MARK: Ends

  @Test func aClosedSessionSendsNothing() throws {
    client.watch(2, Self.rooms)
    try world.commit(["a": 1])
    client.session.close()
    client.watch(4, Self.rooms)
    client.session.advance()
    #expect(client.messages() == [])
  }

  @Test func aSessionEndsWithItsStore() throws {
    client.watch(2, Self.rooms)
    _ = client.messages()
    try world.store.close()
    client.watch(4, Self.rooms)
    #expect(client.messages() == ["ended unavailable"])
    client.watch(6, Self.rooms)
    #expect(client.messages() == [])
  }
}
