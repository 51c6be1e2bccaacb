// Streams: several queries of one consumer, delivered together.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct LiveStreamTests {
  private let store = try! DocumentStore.openInMemory()

  private func rooms() throws -> StructuredQuery {
    StructuredQuery(.collection(try CollectionPath(["rooms"])))
  }

  private func set(_ id: String, _ number: Int64) -> Mutation {
    .set(path("rooms", id), StoredMap([("n", .integer(number))]))
  }

  @Test func eachDeliveryShowsAllQueriesAfterOneCommit() throws {
    let consumer = StreamConsumer(store)
    try consumer.stream.listen(1, to: rooms())
    try consumer.stream.listen(2, to: rooms().limited(to: .first(1)))
    try store.commit([set("b", 1)])
    consumer.run()
    #expect(consumer.ids(1) == ["b"] && consumer.ids(2) == ["b"])
    let time = try store.commit([set("a", 2)])
    consumer.run()
    #expect(consumer.ids(1) == ["a", "b"] && consumer.ids(2) == ["a"])
    #expect(consumer.moments.last?.time == time)
    #expect(consumer.departure(of: "b", from: 2) == .displaced)
  }
}

/// A consumer whose queue the test runs.
final class StreamConsumer: Sendable {
  private struct State {
    var queue: [@Sendable () -> Void] = []
    var moments: [LiveMoment] = []
  }

  private let state: Locked<State>
  let stream: LiveStream

  init(_ store: DocumentStore) {
    let state = Locked(State())
    self.state = state
    stream = LiveStream(of: store) { body in
      state.withLock { $0.queue.append(body) }
    } handler: { moment in
      state.withLock { $0.moments.append(moment) }
    }
  }

  var moments: [LiveMoment] { state.withLock { $0.moments } }

  /// Runs the deliveries that are on the queue.
  func run() {
    while let body = state.withLock({ $0.queue.isEmpty ? nil : $0.queue.removeFirst() }) { body() }
  }

  /// The state of a query in the last moment that has it.
  func state(_ id: Int32) -> LiveQueryState? {
    moments.last { $0.queries[id] != nil }.flatMap { try? $0.queries[id]?.get() }
  }

  func ids(_ id: Int32) -> [String]? { state(id)?.documents.map(\.path.id) }

  func departure(of document: String, from id: Int32) -> Departure? {
    state(id)?.changes.first { $0.path.id == document }?.departure
  }
}
