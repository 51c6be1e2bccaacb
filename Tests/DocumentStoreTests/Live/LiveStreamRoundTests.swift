// Streams whose views load while commits continue, load answers with later commits, or fail.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct LiveStreamRoundTests {
  /// A source with numbered documents in the collections "rooms" and "halls".
  private final class Source: LiveSource {
    struct State {
      var numbers = ["rooms": Array(0..<100), "halls": Array(0..<100)]
      var time: Int64 = 1
      /// Runs once during the next query.
      var duringAnswer: (@Sendable () -> Void)?
      var failure: DocumentStoreError?
      var loadsInBackground = false
      var background: [@Sendable () -> Void] = []
    }

    let publications = Publications()
    let state = Locked(State())

    private func document(_ number: Int, in id: String) -> StoredDocument {
      StoredDocument(
        path: path(id, "m\(number)"), createTime: timestamp(1), updateTime: timestamp(1),
        fields: StoredMap([("n", .integer(Int64(number)))]))
    }

    /// Publishes a commit that deletes the first documents of a collection. Does not notify the views.
    func remove(_ count: Int, from id: String) {
      let (removed, time) = state.withLock { state in
        let removed = Array(state.numbers[id, default: []].prefix(count))
        state.numbers[id, default: []].removeFirst(removed.count)
        state.time += 1
        return (removed, state.time)
      }
      let changes = removed.map { number in
        let old = document(number, in: id)
        return CommitChange(
          path: old.path, key: DocumentKey.encode(old.path), before: old, isBeforeKnown: true, after: nil)
      }
      publications.append(CommitEffects(timestamp(time), changes, shapes: []))
    }

    func answer(_ query: StructuredQuery, seen: LiveResults) throws(DocumentStoreError) -> LiveAnswer {
      let body = state.withLock { state in
        defer { state.duringAnswer = nil }
        return state.duringAnswer
      }
      body?()
      if let failure = state.withLock({ $0.failure }) { throw failure }
      let id = query.scope.collectionID
      let (found, time) = state.withLock { ($0.numbers[id, default: []], $0.time) }
      let documents = query.answer(from: found.map { document($0, in: id) })
      return LiveAnswer(documents: documents, position: publications.position, time: timestamp(time))
    }

    func answerWithoutWaiting(
      _ query: StructuredQuery, seen: LiveResults
    ) throws(DocumentStoreError) -> LiveAnswer? {
      state.withLock({ $0.loadsInBackground }) ? nil : try answer(query, seen: seen)
    }

    var lastCommit: CommitMark? { nil }
    func runInBackground(_ body: @escaping @Sendable () -> Void) {
      state.withLock { $0.background.append(body) }
    }
    func pin(_ indexes: [IndexDefinition]) {}
    func unpin(_ indexes: [IndexDefinition]) {}
    func makeIndexes(for query: StructuredQuery, then body: @escaping @Sendable () -> Void) {}
  }

  private let source = Source()
  private let live: LiveQueries
  private let consumer: StreamConsumer

  init() {
    live = LiveQueries(source.publications)
    live.setSource(source)
    consumer = StreamConsumer(live)
  }

  private func all(_ id: String) throws -> StructuredQuery {
    try StructuredQuery(.collection(path(id, "x").parent)).ordered(by: OrderBy(field("n")))
  }

  private func firstTwo(_ id: String) throws -> StructuredQuery { try all(id).limited(to: .first(2)) }

  private func first(_ id: Int32) -> String? { consumer.ids(id)?.first }

  @Test func aStreamWaitsForAViewThatLoadsAgain() throws {
    try consumer.stream.listen(1, to: firstTwo("rooms"))
    try consumer.stream.listen(2, to: all("halls"))
    consumer.run()
    source.state.withLock { $0.loadsInBackground = true }
    source.remove(50, from: "rooms")
    source.publications.notify()
    source.remove(1, from: "halls")
    source.publications.notify()
    consumer.stream.advance()
    #expect(consumer.waitingCount == 0, "the query of rooms has no state of this time")
    let other = StreamConsumer(live)
    try other.stream.listen(1, to: all("halls"))
    #expect(other.run().count == 1, "a stream without the loading view does not wait")
    let body = source.state.withLock { $0.background.removeFirst() }
    body()
    let snapshots = consumer.run()
    #expect(snapshots.map(\.time) == [timestamp(3)] && snapshots[0].queries.count == 2)
    #expect(first(1) == "m50" && first(2) == "m1")
  }

  @Test func aQueryWithoutAStateHoldsNothingBack() throws {
    try consumer.stream.listen(1, to: all("halls"))
    consumer.run()
    let (source, consumer) = (source, consumer)
    let seen = Locked<[StreamSnapshot]>([])
    source.state.withLock { state in
      state.duringAnswer = {
        source.remove(1, from: "halls")
        source.publications.notify()
        let snapshots = consumer.run()
        seen.withLock { $0 = snapshots }
      }
    }
    try consumer.stream.listen(2, to: all("rooms"))
    #expect(seen.withLock { $0.map(\.time) } == [timestamp(2)])
    #expect(consumer.run().map { Array($0.queries.keys) } == [[2]])
  }

  /// A thread that has published a commit notifies the views only after the reload.
  @Test func aReloadThatIncludesALaterCommitIsDeliveredWithThatCommit() throws {
    try consumer.stream.listen(1, to: firstTwo("rooms"))
    try consumer.stream.listen(2, to: all("halls"))
    try consumer.stream.listen(3, to: all("rooms"))
    consumer.run()
    let source = source
    source.state.withLock { state in
      state.duringAnswer = {
        source.remove(1, from: "rooms")
        source.remove(1, from: "halls")
      }
    }
    source.remove(50, from: "rooms")
    source.publications.notify()
    #expect(consumer.run().isEmpty, "one query includes two commits that the others lack")
    source.publications.notify()
    let snapshots = consumer.run()
    #expect(snapshots.map(\.time) == [timestamp(4)])
    #expect(first(1) == "m51" && first(2) == "m1" && first(3) == "m51")
  }

  @Test func anErrorEndsItsQueryAlone() throws {
    try consumer.stream.listen(1, to: firstTwo("rooms"))
    try consumer.stream.listen(2, to: all("rooms"))
    consumer.run()
    source.state.withLock { $0.failure = .invalidArgument("broken") }
    source.remove(50, from: "rooms")
    source.publications.notify()
    let snapshots = consumer.run()
    #expect(snapshots.count == 1 && first(2) == "m50")
    guard case .failure(.invalidArgument("broken"))? = snapshots[0].queries[1] else {
      Issue.record("the query has not failed: \(String(describing: snapshots[0].queries[1]))")
      return
    }
    source.state.withLock { $0.failure = nil }
    try consumer.stream.listen(1, to: firstTwo("rooms"))
    consumer.run()
    #expect(first(1) == "m50" && consumer.state(1)?.isFirst == true)
  }

  @Test func anErrorOfTheFirstRunIsThrownAndNotDelivered() throws {
    try consumer.stream.listen(1, to: all("halls"))
    source.state.withLock { $0.failure = .invalidArgument("broken") }
    #expect(failure { try consumer.stream.listen(2, to: all("rooms")) } == .invalidArgument("broken"))
    #expect(consumer.run().map { Array($0.queries.keys) } == [[1]])
    source.state.withLock { $0.failure = nil }
    try consumer.stream.listen(2, to: all("rooms"))
    consumer.run()
    #expect(first(2) == "m0")
  }

  /// The view shows an older state than the other queries of the stream.
  @Test func aQueryThatJoinsALoadingViewWaitsForItsState() throws {
    let other = StreamConsumer(live)
    try other.stream.listen(1, to: firstTwo("rooms"))
    try consumer.stream.listen(1, to: all("halls"))
    consumer.run()
    source.state.withLock { $0.loadsInBackground = true }
    source.remove(50, from: "rooms")
    source.publications.notify()
    try consumer.stream.listen(2, to: firstTwo("rooms"))
    source.remove(1, from: "halls")
    source.publications.notify()
    #expect(consumer.run().map { Array($0.queries.keys) } == [[1]])
    let body = source.state.withLock { $0.background.removeFirst() }
    body()
    #expect(consumer.run().map { Array($0.queries.keys) } == [[2]] && first(2) == "m50")
  }
}
