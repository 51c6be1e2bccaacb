// Queries that are outdated as a whole, and queries whose reads fail.

import ByteStore
import Dispatch
import Testing

@testable import DocumentStore

@Suite struct LiveRunAgainTests {
  /// A source with the documents m0, m1 and so on, ordered by number.
  private final class Source: LiveSource {
    private struct State {
      var numbers: [Int]
      var failure: DocumentStoreError?
    }

    let publications = Publications()
    private let state: Locked<State>

    init(_ numbers: Range<Int>) { state = Locked(State(numbers: Array(numbers))) }

    private func document(_ number: Int) -> StoredDocument {
      StoredDocument(
        path: path("rooms", "m\(number)"), createTime: timestamp(1), updateTime: timestamp(1),
        fields: StoredMap([("n", .integer(Int64(number)))]))
    }

    /// From now on, queries throw this error; nil ends that.
    func fail(with error: DocumentStoreError?) { state.withLock { $0.failure = error } }

    /// Publishes a commit that deletes the first documents.
    func deleteFirst(_ count: Int, at time: StoredTimestamp) {
      let deleted = state.withLock { state in
        defer { state.numbers.removeFirst(count) }
        return Array(state.numbers.prefix(count))
      }
      let changes = deleted.map { number in
        let old = document(number)
        return CommitChange(
          path: old.path, key: DocumentKey.encode(old.path), before: old, isBeforeKnown: true, after: nil)
      }
      publications.append(CommitEffects(time, changes, shapes: []))
      publications.notify()
    }

    /// Replaces all documents, by more than a commit.
    func replace(with numbers: Range<Int>, at time: StoredTimestamp) {
      state.withLock { $0.numbers = Array(numbers) }
      publications.appendReload(at: time)
    }

    func answer(_ query: StructuredQuery, seen: LiveResults) throws(DocumentStoreError) -> LiveAnswer {
      let (numbers, failure) = state.withLock { ($0.numbers, $0.failure) }
      if let failure { throw failure }
      var found = numbers
      if case .first(let count) = query.limit { found = Array(found.prefix(count)) }
      return LiveAnswer(documents: found.map { document($0) }, position: publications.position)
    }

    func answerWithoutWaiting(_ query: StructuredQuery, seen: LiveResults) throws(DocumentStoreError)
      -> LiveAnswer?
    {
      try answer(query, seen: seen)
    }

    var lastCommit: CommitMark? { nil }
    func pin(_ indexes: [IndexDefinition]) {}
    func unpin(_ indexes: [IndexDefinition]) {}
    func makeIndexes(for query: StructuredQuery, then body: @escaping @Sendable () -> Void) {}
    func runInBackground(_ body: @escaping @Sendable () -> Void) {}
  }

  /// A call that a listener received.
  private struct Received: Equatable {
    var ids: [String] = []
    var time: StoredTimestamp?
    var isFailure = false
  }

  private let queue = DispatchQueue(label: "listeners")
  private let transient = DocumentStoreError.failed(StorageEvidence(message: "The disk did not answer."))
  private let damage = DocumentStoreError.corrupted(StorageEvidence(message: "A page is damaged."))

  private func makeLive(_ source: Source, repeatsFailedReads: Bool = true) -> LiveQueries {
    let live = LiveQueries(source.publications, repeatsFailedReads: repeatsFailedReads)
    live.setSource(source)
    return live
  }

  private func query(_ limit: StructuredQuery.Limit? = nil) throws -> StructuredQuery {
    let query = try StructuredQuery(.collection(path("rooms", "x").parent)).ordered(by: OrderBy(field("n")))
    return try limit.map { try query.limited(to: $0) } ?? query
  }

  private func listen(_ query: StructuredQuery, _ live: LiveQueries) throws -> Locked<[Received]> {
    let received = Locked<[Received]>([])
    let listener = LiveListener(queue) { result in
      let new =
        switch result {
        case .success(let state): Received(ids: state.documents.map(\.path.id), time: state.time)
        case .failure: Received(isFailure: true)
        }
      received.withLock { $0.append(new) }
    }
    _ = try live.listen(query, listener)
    queue.sync {}
    return received
  }

  private func states(_ received: Locked<[Received]>) -> [Received] {
    queue.sync {}
    return received.withLock { $0 }
  }

  @Test func anOutdatedQueryGoesFromOneStateToTheOtherWithItsTime() throws {
    let source = Source(0..<2)
    let live = makeLive(source)
    let received = try listen(query(), live)
    source.deleteFirst(1, at: timestamp(2))
    queue.sync {}
    source.replace(with: 5..<7, at: timestamp(3))
    let late = try listen(query(), live)
    live.invalidate()
    let later = try listen(query(), live)
    let before = [
      Received(ids: ["m0", "m1"]), Received(ids: ["m1"], time: timestamp(2)),
    ]
    #expect(states(received) == before, "the query did not run again yet")
    #expect([states(late), states(later)] == [[before[1]], [before[1]]], "the old state has its own time")
    try live.runAgain()
    let after = Received(ids: ["m5", "m6"], time: timestamp(3))
    #expect(states(received) == before + [after])
    #expect([states(late), states(later)] == [[before[1], after], [before[1], after]])
  }

  @Test func aTransientErrorKeepsTheListenersAndTheirState() throws {
    let source = Source(0..<2)
    let live = makeLive(source)
    let received = try listen(query(), live)
    source.deleteFirst(1, at: timestamp(2))
    queue.sync {}
    source.replace(with: 5..<8, at: timestamp(3))
    live.invalidate()
    source.fail(with: transient)
    #expect(failure { try live.runAgain() } == transient)
    // A commit during the wait is part of the next answer.
    source.deleteFirst(1, at: timestamp(4))
    #expect(failure { try live.runAgain() } == transient)
    let late = try listen(query(), live)
    let before = Received(ids: ["m1"], time: timestamp(2))
    #expect(states(received) == [Received(ids: ["m0", "m1"]), before])
    #expect(states(late) == [before], "a listener that joins gets the same state with its time")
    source.fail(with: nil)
    try live.runAgain()
    let after = Received(ids: ["m6", "m7"], time: timestamp(4))
    #expect(states(received) == [Received(ids: ["m0", "m1"]), before, after])
    #expect(states(late) == [before, after])
    try live.runAgain()
    #expect(states(received).count == 3, "a query that ran is left alone")
    #expect(live.viewCount == 1 && live.listenerCount == 2)
  }

  @Test func anyOtherErrorEndsTheListening() throws {
    let source = Source(0..<2)
    let live = makeLive(source)
    let received = try listen(query(), live)
    source.replace(with: 5..<7, at: timestamp(2))
    live.invalidate()
    source.fail(with: damage)
    try live.runAgain()
    #expect(states(received) == [Received(ids: ["m0", "m1"]), Received(isFailure: true)])
    #expect(live.viewCount == 0 && live.listenerCount == 0)
  }

  /// One query with an error does not stop the others.
  @Test func eachOutdatedQueryRunsAgain() throws {
    let source = Source(0..<20)
    let live = makeLive(source)
    let all = try listen(query(), live)
    let first = try listen(query(.first(1)), live)
    source.replace(with: 5..<7, at: timestamp(2))
    live.invalidate()
    source.fail(with: transient)
    #expect(failure { try live.runAgain() } == transient)
    source.fail(with: nil)
    try live.runAgain()
    #expect(states(all).last?.ids == ["m5", "m6"])
    #expect(states(first).last?.ids == ["m5"])
  }

  @Test func moreCommitsDuringTheWaitThanAViewKeepsAreNoProblem() throws {
    let source = Source(0..<2)
    let live = makeLive(source)
    let received = try listen(query(), live)
    source.replace(with: 0..<LiveView.backlogMax + 2, at: timestamp(2))
    live.invalidate()
    source.fail(with: transient)
    #expect(failure { try live.runAgain() } == transient)
    source.deleteFirst(LiveView.backlogMax + 1, at: timestamp(3))
    source.fail(with: nil)
    try live.runAgain()
    #expect(states(received).last == Received(ids: ["m\(LiveView.backlogMax + 1)"], time: timestamp(3)))
  }

  @Test func aLimitedViewWaitsForItsOtherDocuments() throws {
    let source = Source(0..<100)
    let live = makeLive(source)
    let received = try listen(query(.first(2)), live)
    source.fail(with: transient)
    source.deleteFirst(20, at: timestamp(2))
    #expect(states(received) == [Received(ids: ["m0", "m1"])], "fewer documents than the limit are no state")
    source.fail(with: nil)
    try live.runAgain()
    let after = Received(ids: ["m20", "m21"], time: timestamp(2))
    #expect(states(received) == [Received(ids: ["m0", "m1"]), after])
  }

  /// The commits of a writer come from the same process, and nothing would run the query again.
  @Test func aFailedReadOfAWriterEndsTheListening() throws {
    let source = Source(0..<100)
    let live = makeLive(source, repeatsFailedReads: false)
    let received = try listen(query(.first(2)), live)
    source.fail(with: transient)
    source.deleteFirst(20, at: timestamp(2))
    #expect(states(received) == [Received(ids: ["m0", "m1"]), Received(isFailure: true)])
    #expect(live.viewCount == 0)
  }
}
