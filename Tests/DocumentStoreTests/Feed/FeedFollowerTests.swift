// Readers of the change feed that are not stored, and the times without readers.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct FeedFollowerTests {
  private func set(_ number: Int64) -> Mutation {
    .set(path("rooms", "eros"), StoredMap([("n", .integer(number))]))
  }

  private func numbers(_ store: DocumentStore, after position: FeedPosition) throws -> [UInt64] {
    try store.feedChanges(after: position, max: 1000).commits.map(\.position.value)
  }

  private func isTruncated(_ store: DocumentStore, after position: FeedPosition) -> Bool {
    guard case .feedTruncated = failure(of: { try store.feedChanges(after: position, max: 1) }) else {
      return false
    }
    return true
  }

  @Test func aFollowerKeepsTheCommitsThatItHasNotRead() throws {
    let store = try SimulatedStore().store
    let follower = try store.followFeed()
    let start = try store.feedRange().newest
    for number in 1...3 { try store.commit([set(Int64(number))]) }
    try store.trimFeed()
    #expect(try numbers(store, after: start) == [1, 2, 3])
    follower.advance(to: FeedPosition(2))
    try store.trimFeed()
    #expect(isTruncated(store, after: FeedPosition(1)))
    #expect(try numbers(store, after: FeedPosition(2)) == [3])
    let range = try store.feedRange()
    #expect(range.oldest == FeedPosition(2) && range.newest == FeedPosition(3))
    follower.end()
    #expect(try store.feedRange().oldest == FeedPosition(3), "the last entry is removed")
    follower.advance(to: FeedPosition(3))
    #expect(!store.pipeline.feed.isActive, "the end is final")
    try store.checkInvariants()
  }

  @Test func aFollowerIsNotStoredAndAConsumerIs() throws {
    var machine = try SimulatedStore()
    let follower = try machine.store.followFeed()
    try machine.store.commit([set(1)])
    machine = try machine.afterPowerLoss()
    #expect(!machine.store.pipeline.feed.isActive)
    withExtendedLifetime(follower) {}
    _ = try machine.store.feedConsumer("a")
    #expect(isTruncated(machine.store, after: FeedPosition(0)), "the entry is removed")
    machine = try machine.afterPowerLoss()
    #expect(machine.store.pipeline.feed.isActive)
  }

  /// Guards against missing commits: a commit in an inactive feed has no number.
  @Test(arguments: [false, true]) func positionsBeforeAnInactiveTimeAreTruncated(isNamed: Bool) throws {
    let store = try SimulatedStore().store
    let first = try store.feedConsumer("a")
    try store.commit([set(1)])
    let position = try #require(try first.read().last?.position)
    try first.unregister()
    try store.commit([set(2)])
    let follower = isNamed ? nil : try store.followFeed()
    if isNamed { _ = try store.feedConsumer("b") }
    #expect(isTruncated(store, after: position))
    let start = try store.feedRange()
    #expect(start.oldest == start.newest && position < start.newest)
    try store.commit([set(3)])
    #expect(try numbers(store, after: start.newest).count == 1)
    withExtendedLifetime(follower) {}
    try store.checkInvariants()
  }

  @Test func aNewReaderWaitsForCommitsWithAnEntry() throws {
    let store = try SimulatedStore().store
    let old = try store.followFeed()
    let inProgress = try store.begin([set(1)])
    old.end()
    try store.finish(inProgress)
    let follower = try store.followFeed()
    #expect(try numbers(store, after: try store.feedRange().oldest) == [])
    withExtendedLifetime(follower) {}
  }

  @Test func aPageEndsWhenItHasEnoughBytes() throws {
    let store = try SimulatedStore().store
    let follower = try store.followFeed()
    let text = StoredValue.bytes([UInt8](repeating: 1, count: 1000))
    for number in 0..<10 {
      try store.commit([
        .set(path("rooms", "eros"), StoredMap([("n", .integer(Int64(number))), ("t", text)]))
      ])
    }
    let (commits, end) = try store.feedChanges(after: .start, max: 100, bytesMax: 2500)
    #expect(commits.map(\.position.value) == [1, 2, 3])
    #expect(end == FeedPosition(3))
    withExtendedLifetime(follower) {}
  }

  @Test func aSnapshotKnowsItsPosition() throws {
    let store = try SimulatedStore().store
    #expect(try store.snapshot().feedPosition() == .start)
    let consumer = try store.feedConsumer("a")
    try store.commit([set(1)])
    let snapshot = try store.snapshot()
    let time = try store.commit([set(2)])
    #expect(try snapshot.feedPosition() == FeedPosition(1))
    #expect(try store.feedTime(at: FeedPosition(2)) == time)
    #expect(try store.feedTime(at: FeedPosition(3)) == nil)
    #expect(store.feedPosition(ofConsumer: "a") == .start)
    try consumer.acknowledge(FeedPosition(1))
    #expect(store.feedPosition(ofConsumer: "a") == FeedPosition(1))
    #expect(store.feedPosition(ofConsumer: "b") == nil)
  }
}
