// The changes since the tokens of several targets, read from the feed once.

import DocumentStore
import OfflineSync
import Testing

@testable import Authority

@Suite struct FeedWindowTests {
  private let world: SessionWorld
  private let start: BackendMark

  init() throws {
    world = try SessionWorld()
    try world.commit(["a": 1])
    start = try Self.mark(in: world.store)
  }

  /// The position and time of the last commit.
  private static func mark(in store: DocumentStore) throws -> BackendMark {
    let time = try #require(store.lastCommitTime)
    return BackendMark(try store.feedRange().newest, SnapshotVersion(time))
  }

  private func target(_ id: Int32, _ query: StructuredQuery) -> WatchedTarget {
    WatchedTarget(
      WatchTarget(TargetID(id), query), .here(start.position, start.time), firstQueryID: id * 100)
  }

  private func windows(_ targets: [WatchedTarget], count: Int = 1) throws -> [TargetID: FeedWindow] {
    FeedWindow.windows(
      of: targets.map { FeedWindow.Request(target: $0, count: count) },
      through: try Self.mark(in: world.store).position, in: world.authority.backend)
  }

  private static let others = StructuredQuery(.collection(CollectionPath(unchecked: ["others"])))

  private func commitElsewhere(_ count: Int) throws {
    for number in 0..<count {
      try world.store.commit([.set(DocumentPath(unchecked: ["others", "\(number)"]), StoredMap())])
    }
  }

  @Test func eachTargetHasTheChangesOfItsScope() throws {
    try world.commit(["b": 2])
    try world.commit(["a": nil, "b": 3])
    try commitElsewhere(1)
    let windows = try windows([target(2, SessionWorld.rooms), target(4, Self.others)])
    let rooms = try #require(windows[TargetID(2)])
    #expect(Set(rooms.entries.keys) == [SessionWorld.room("a"), SessionWorld.room("b")])
    #expect(rooms.entries[SessionWorld.room("a")]?.existed == true)
    #expect(rooms.entries[SessionWorld.room("b")]?.existed == false)
    #expect(windows[TargetID(4)]?.entries.keys.map(\.id) == ["0"])
  }

  @Test func aTargetWithMoreChangesThanDocumentsHasNoWindow() throws {
    try world.commit(["b": 2])
    try commitElsewhere(1001)
    let targets = [target(2, SessionWorld.rooms), target(4, Self.others)]
    #expect(try windows(targets).keys.map(\.value) == [2])
    #expect(try Set(windows(targets, count: 1001).keys.map(\.value)) == [2, 4])
  }

  @Test func aTargetThatCannotBeResumedHasNoWindow() throws {
    try world.commit(["b": 2])
    let limited = target(2, try SessionWorld.first(1))
    let foreign = WatchedTarget(
      WatchTarget(TargetID(4), SessionWorld.rooms), .otherDatabase, firstQueryID: 400)
    let later = WatchedTarget(
      WatchTarget(TargetID(6), SessionWorld.rooms),
      .here(FeedPosition(start.position.value + 100), start.time), firstQueryID: 600)
    #expect(try windows([limited, foreign, later]).isEmpty)
  }
}
