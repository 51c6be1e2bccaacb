// Forged counters of a change feed, with valid checksums.
//
// Each counter is refused, or its cost is bounded by the number of existing entries.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite(.timeLimit(.minutes(5))) struct HostileFeedTests {
  private static let far: UInt64 = 1 << 61

  /// A store with two entries, one consumer, and forged settings.
  private func machine(
    first: UInt64 = 1, next: UInt64 = 3, bytes: UInt64 = 100, acknowledged: UInt64 = 0
  ) throws -> DiskImage {
    let machine = try SimulatedStore()
    _ = try machine.store.feedConsumer("a")
    for number in 1...2 { try machine.store.commit([set(number)]) }
    var ledger: [UInt8] = []
    ledger.append(littleEndian: FeedFormat.version)
    for number in [first, next, bytes] { ledger.append(littleEndian: number) }
    var consumers: [UInt8] = []
    for number in [FeedFormat.version, 1] { consumers.append(littleEndian: number) }
    FeedFormat.append("a", to: &consumers)
    consumers.append(littleEndian: acknowledged)
    var batch = Batch(stamp: machine.store.bytes.lastStamp + 1)
    try batch.put(ledger, for: FeedFormat.stateKey)
    try batch.put(consumers, for: FeedFormat.consumersKey)
    try machine.store.bytes.commit(batch)
    machine.store.bytes.abandon()
    return machine.disk.image
  }

  private func set(_ number: Int) -> Mutation {
    .set(path("rooms", "eros"), StoredMap([("n", .integer(Int64(number)))]))
  }

  private static let impossible: [(UInt64, UInt64, UInt64)] = [
    (1 << 62, 100, 0), (.max, 100, 0), (3, 1 << 62, 0), (3, 100, .max),
  ]

  @Test(arguments: impossible)
  func impossibleCountsAreRefused(next: UInt64, bytes: UInt64, acknowledged: UInt64) throws {
    let image = try machine(next: next, bytes: bytes, acknowledged: acknowledged)
    guard case .corrupted = failure(of: { try SimulatedStore(image) }) else {
      Issue.record("a made-up state of the feed was taken")
      return
    }
  }

  @Test func hugeGapsInFeedPositionsCostNoTime() throws {
    let store = try SimulatedStore(try machine(next: Self.far)).store
    let consumer = try store.feedConsumer("a")
    #expect(try consumer.read().map(\.position.value) == [1, 2])
    #expect(consumer.position.value == Self.far - 1)
    try store.commit([set(3)])
    let last = try consumer.read()
    #expect(last.map(\.position.value) == [Self.far])
    try consumer.acknowledge(FeedPosition(Self.far))
    #expect(store.pipeline.feed.first == Self.far + 1, "all of it is trimmed")
    #expect(try consumer.read().isEmpty)
    try consumer.unregister()
    #expect(try store.feedConsumer("b").position.value == Self.far + 1)
  }

  @Test func anUnreadGapIsNotReportedAsTruncated() throws {
    let store = try SimulatedStore(try machine(next: Self.far)).store
    let consumer = try store.feedConsumer("a")
    try consumer.acknowledge(FeedPosition(2))
    consumer.skipToStart()
    #expect(try consumer.read().isEmpty)
    let again = try store.feedConsumer("a")
    #expect(try again.read().isEmpty)
    try store.commit([set(3)])
    #expect(try again.read().count == 1)
  }

  @Test func aConsumerWithATooHighPositionContinuesAtTheEnd() throws {
    let store = try SimulatedStore(try machine(acknowledged: 1000)).store
    let consumer = try store.feedConsumer("a")
    #expect(consumer.position.value == 2)
    try store.commit([set(3)])
    #expect(try consumer.read().map(\.position.value) == [3])
  }

  @Test func aPositionAfterTheEndReturnsNothing() throws {
    let store = try SimulatedStore(try machine()).store
    let (commits, end) = try store.feedChanges(after: FeedPosition(.max), max: 10)
    #expect(commits.isEmpty && end.value == .max)
  }

  @Test func consumersBeyondTheRecordCapacityAreRefused() throws {
    let store = try SimulatedStore().store
    for number in 0..<3 { _ = try store.feedConsumer("\(number)") }
    store.pipeline.withFeed { feed in
      for number in 0..<1000 { feed.consumers["made up \(number)"] = 0 }
    }
    #expect(failure(of: { try store.feedConsumer("one more") })?.complaint != nil)
    #expect(throws: Never.self) { try store.feedConsumer("1") }
  }
}
