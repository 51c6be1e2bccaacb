// Streams: several queries of one consumer, delivered together.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct LiveStreamTests {
  private let store: DocumentStore

  init() throws { store = try SimulatedStore().store }

  private func rooms() throws -> StructuredQuery {
    StructuredQuery(.collection(try CollectionPath(["rooms"])))
  }

  private func first(_ count: Int) throws -> StructuredQuery {
    try rooms().ordered(by: OrderBy(field("n"))).limited(to: .first(count))
  }

  private func small() throws -> StructuredQuery {
    try rooms().filtered(by: .field(field("n"), .lessThan, .integer(10)))
  }

  private func set(_ id: String, _ number: Int64) -> Mutation {
    .set(path("rooms", id), StoredMap([("n", .integer(number))]))
  }

  // MARK: Snapshots

  @Test func eachDeliveryShowsAllQueriesAfterOneCommit() throws {
    let consumer = StreamConsumer(store)
    try consumer.stream.listen(1, to: rooms())
    try consumer.stream.listen(2, to: first(1))
    try store.commit([set("b", 2)])
    consumer.run()
    #expect(consumer.ids(1) == ["b"] && consumer.ids(2) == ["b"])
    #expect(consumer.state(1)?.isFirst == true && consumer.state(1)?.changes.isEmpty == true)
    let time = try store.commit([set("a", 1)])
    let snapshots = consumer.run()
    #expect(snapshots.count == 1 && snapshots[0].time == time)
    #expect(consumer.ids(1) == ["a", "b"] && consumer.ids(2) == ["a"])
  }

  @Test func theTimeIsKnownBeforeTheFirstCommitAfterTheListen() throws {
    let feed = try store.feedConsumer("reader")
    try store.commit([set("a", 1)])
    let time = try store.commit([.set(path("halls", "a"), StoredMap())])
    let consumer = StreamConsumer(store)
    try consumer.stream.listen(1, to: rooms())
    let snapshots = consumer.run()
    #expect(snapshots.map(\.time) == [time])
    #expect(try snapshots.map(\.position) == [feed.read().last?.position])
    // A second query shares the time of the first one.
    try consumer.stream.listen(2, to: first(1))
    #expect(consumer.run().map(\.time) == [time])
  }

  @Test func aStoreWithoutCommitsHasNoTime() throws {
    let consumer = StreamConsumer(store)
    try consumer.stream.listen(1, to: rooms())
    #expect(consumer.run().map(\.time) == [nil] && consumer.snapshots.map(\.position) == [nil])
  }

  @Test func advanceDeliversTheTimeOfTheLastCommit() throws {
    let consumer = StreamConsumer(store)
    let before = try store.commit([set("a", 1)])
    consumer.stream.advance()
    #expect(consumer.run().map(\.time) == [before], "a stream without queries")
    try consumer.stream.listen(1, to: rooms())
    consumer.run()
    let time = try store.commit([.set(path("halls", "a"), StoredMap())])
    #expect(consumer.waitingCount == 0, "the commit concerns no query of the stream")
    consumer.stream.advance()
    consumer.stream.advance()
    let snapshots = consumer.run()
    #expect(snapshots.map(\.time) == [time] && snapshots[0].queries.isEmpty)
  }

  @Test func aSlowConsumerGetsOneDeliveryForManyCommits() throws {
    let consumer = StreamConsumer(store)
    try store.commit([set("a", 1), set("b", 2)])
    try consumer.stream.listen(1, to: rooms())
    consumer.run()
    try store.commit([set("a", 3)])
    let deletion = try store.commit([set("c", 4), .delete(path("rooms", "b"))])
    try store.commit([set("d", 5)])
    let time = try store.commit([.delete(path("rooms", "d")), set("a", 6)])
    #expect(consumer.waitingCount == 1)
    let snapshots = consumer.run()
    #expect(snapshots.map(\.time) == [time] && consumer.ids(1) == ["a", "c"])
    let changes = consumer.state(1)?.changes ?? []
    #expect(changes.map(\.path.id) == ["b", "c", "a"], "removals, additions, modifications")
    #expect(changes.map(\.departure) == [.deleted(at: deletion), nil, nil])
    #expect(changes.last?.old?.fields["n"] == .integer(1) && changes.last?.new?.fields["n"] == .integer(6))
  }

  @Test func aChangeThatWasUndoneIsNotDelivered() throws {
    let consumer = StreamConsumer(store)
    try consumer.stream.listen(1, to: rooms())
    consumer.run()
    try store.commit([set("a", 1)])
    try store.commit([.delete(path("rooms", "a"))])
    #expect(consumer.run().isEmpty)
  }

  // MARK: Departures

  @Test func aDepartureSaysWhatBecameOfTheDocument() throws {
    let consumer = StreamConsumer(store)
    try store.commit([set("a", 1), set("b", 2), set("c", 3)])
    try consumer.stream.listen(1, to: small())
    try consumer.stream.listen(2, to: first(2))
    consumer.run()
    try store.commit([set("a", 50)])
    consumer.run()
    let changed = try store.document(at: path("rooms", "a")).map { Departure.changed($0) }
    #expect(consumer.departure(of: "a", from: 1) == changed, "it matches no longer")
    #expect(consumer.departure(of: "a", from: 2) == changed, "it matches beyond the limit")
    try store.commit([set("0", 0)])
    consumer.run()
    #expect(consumer.departure(of: "c", from: 2) == .displaced)
    let deletion = Departure.deleted(at: try store.commit([.delete(path("rooms", "b"))]))
    consumer.run()
    #expect(
      consumer.departure(of: "b", from: 1) == deletion && consumer.departure(of: "b", from: 2) == deletion)
  }

  /// The view has no spare documents left and runs its query again.
  @Test func aDepartureIsKnownAfterAReload() throws {
    let consumer = StreamConsumer(store)
    try store.commit((0..<60).map { set("m\($0)", Int64($0)) })
    try consumer.stream.listen(1, to: first(3))
    consumer.run()
    let time = try store.commit((1..<40).map { .delete(path("rooms", "m\($0)")) } + [set("m0", 1000)])
    consumer.run()
    #expect(consumer.ids(1) == ["m40", "m41", "m42"])
    #expect(consumer.departure(of: "m1", from: 1) == .deleted(at: time))
    let moved = try store.document(at: path("rooms", "m0"))
    #expect(consumer.departure(of: "m0", from: 1) == moved.map { .changed($0) })
  }

  /// The queries lose the document after different commits. Only one of them sees the last one.
  @Test func oneDocumentHasOneLastStateInASnapshot() throws {
    let consumer = StreamConsumer(store)
    try store.commit([set("a", 1), set("b", 2)])
    try consumer.stream.listen(1, to: small())
    try consumer.stream.listen(2, to: rooms())
    consumer.run()
    try store.commit([set("a", 50)])
    let deletion = Departure.deleted(at: try store.commit([.delete(path("rooms", "a"))]))
    consumer.run()
    #expect(
      consumer.departure(of: "a", from: 1) == deletion && consumer.departure(of: "a", from: 2) == deletion)
    try store.commit([set("b", 50)])
    try store.commit([set("b", 60)])
    consumer.run()
    let now = try store.document(at: path("rooms", "b"))
    #expect(consumer.departure(of: "b", from: 1) == now.map { .changed($0) })
  }

  // MARK: Removing

  @Test func aRemovedQueryIsInNoLaterDelivery() throws {
    let consumer = StreamConsumer(store)
    try consumer.stream.listen(1, to: rooms())
    try consumer.stream.listen(2, to: small())
    consumer.run()
    try store.commit([set("a", 1)])
    consumer.stream.remove(1)
    #expect(consumer.run().map { Array($0.queries.keys) } == [[2]])
    try consumer.stream.listen(1, to: small())
    consumer.run()
    #expect(consumer.state(1)?.isFirst == true && consumer.ids(1) == ["a"])
    #expect(store.live.viewCount == 1)
  }

  @Test func anIdBelongsToOneQuery() throws {
    let consumer = StreamConsumer(store)
    try consumer.stream.listen(1, to: rooms())
    #expect(failure { try consumer.stream.listen(1, to: small()) }?.complaint?.contains("1") == true)
    let many = try rooms().filtered(by: .field(field("n"), .isIn, .array((0..<31).map { .integer($0) })))
    #expect(failure { try consumer.stream.listen(2, to: many) }?.complaint != nil)
    try consumer.stream.listen(2, to: small())
  }

  @Test func aClosedStreamDeliversNothing() throws {
    let consumer = StreamConsumer(store)
    try consumer.stream.listen(1, to: rooms())
    try store.commit([set("a", 1)])
    consumer.stream.close()
    #expect(consumer.run().isEmpty && store.live.viewCount == 0 && store.live.listenerCount == 0)
    guard case .closed = failure(of: { try consumer.stream.listen(2, to: rooms()) }) else {
      Issue.record("a closed stream listens")
      return
    }
  }

  @Test func closingTheStoreEndsItsStreams() throws {
    let consumer = StreamConsumer(store)
    try consumer.stream.listen(1, to: rooms())
    try store.commit([set("a", 1)])
    try store.close()
    #expect(consumer.run().isEmpty)
    consumer.stream.advance()
    #expect(consumer.run().flatMap(\.queries.keys).isEmpty)
  }

  /// The handler removes a query while the snapshot is already composed.
  @Test func aQueryThatTheHandlerRemovesIsInNoLaterSnapshot() throws {
    let queue = Locked<[@Sendable () -> Void]>([])
    let seen = Locked<[[Int32]]>([])
    let stream = Locked<LiveStream?>(nil)
    let created = LiveStream(of: store) { body in
      queue.withLock { $0.append(body) }
    } handler: { snapshot in
      seen.withLock { $0.append(snapshot.queries.keys.sorted()) }
      stream.withLock { $0 }?.remove(1)
    }
    stream.withLock { $0 = created }
    try created.listen(1, to: rooms())
    try created.listen(2, to: small())
    for number in 0..<3 {
      try store.commit([set("a", Int64(number))])
      while let body = queue.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { body() }
    }
    #expect(seen.withLock { $0 } == [[1, 2], [2], [2]])
    stream.withLock { $0 = nil }
    created.close()
  }

  // MARK: Sharing

  @Test func streamsShareTheViewsOfOtherListeners() throws {
    let consumers = (0..<5).map { _ in StreamConsumer(store) }
    for consumer in consumers {
      try consumer.stream.listen(1, to: rooms())
      try consumer.stream.listen(2, to: rooms())
    }
    #expect(store.live.viewCount == 1 && store.live.listenerCount == 10)
    try store.commit([set("a", 1)])
    for consumer in consumers {
      consumer.run()
      #expect(consumer.ids(1) == ["a"] && consumer.ids(2) == ["a"])
    }
  }

  @Test func aWriteThatConcernsNoQueryOfAStreamDoesNotReachIt() throws {
    let consumers = (0..<50).map { _ in StreamConsumer(store) }
    for (number, consumer) in consumers.enumerated() {
      let mine = try rooms().filtered(by: .field(field("owner"), .equal, .integer(Int64(number))))
      try consumer.stream.listen(1, to: mine)
      consumer.run()
    }
    let visits = store.live.visitCount
    try store.commit([set("a", 1), .set(path("rooms", "b"), StoredMap([("owner", .integer(7))]))])
    #expect(store.live.visitCount - visits == 1)
    #expect(consumers.map(\.waitingCount).reduce(0, +) == 1)
    #expect(consumers[7].run().count == 1)
  }

  /// Ten thousand views of fifty documents must not keep trees of values.
  @Test func viewsKeepDocumentsEncoded() throws {
    try store.commit((0..<50).map { set("m\($0)", Int64($0)) })
    let consumer = StreamConsumer(store)
    try consumer.stream.listen(1, to: rooms())
    try consumer.stream.listen(2, to: first(20))
    try store.commit([set("m3", 1000)])
    consumer.run()
    for id in [1, 2] as [Int32] {
      let documents = try #require(consumer.state(id)?.documents)
      #expect(documents.allSatisfy(\.fields.isEncoded) && documents.count >= 20)
    }
  }

  @Test func anOffsetIsPartOfTheState() throws {
    let consumer = StreamConsumer(store)
    try store.commit((0..<9).map { set("m\($0)", Int64($0)) })
    try consumer.stream.listen(1, to: first(2).skipping(3))
    consumer.run()
    #expect(consumer.ids(1) == ["m3", "m4"])
    try store.commit([.delete(path("rooms", "m0"))])
    consumer.run()
    #expect(consumer.ids(1) == ["m4", "m5"] && consumer.departure(of: "m3", from: 1) == .displaced)
  }
}
