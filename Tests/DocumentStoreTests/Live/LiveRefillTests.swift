// Loading and reloading views while commits continue and indexes are built and evicted.

import ByteStore
import Dispatch
import Harness
import Testing

@testable import DocumentStore

@Suite struct LiveRefillTests {
  private let store: DocumentStore
  private let queue = DispatchQueue(label: "listeners")
  private let byNumber = IndexDefinition.rooms("n")

  init() throws {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.scanMax = 0
    store = try DocumentStore.open("/store", options: options, platform: SimulatedDisk().platform(seed: 1))
    try store.commit((0..<100).map { set("m\($0)", Int64($0)) })
  }

  private func set(_ id: String, _ number: Int64) -> Mutation {
    .set(path("rooms", id), StoredMap([("n", .integer(number)), ("k", .integer(number % 5))]))
  }

  private func first(_ count: Int, by name: String = "n") throws -> StructuredQuery {
    try StructuredQuery(.collection(path("rooms", "x").parent)).ordered(by: OrderBy(field(name)))
      .limited(to: .first(count))
  }

  private func listen(
    _ query: StructuredQuery
  ) throws -> (ids: Locked<[String]>, registration: LiveRegistration) {
    let ids = Locked<[String]>([])
    let registration = try store.listen(to: query, on: queue) { result in
      if case .success(let snapshot) = result { ids.withLock { $0 = snapshot.documents.map(\.path.id) } }
    }
    queue.sync {}
    return (ids, registration)
  }

  // MARK: Indexes

  /// Guards against a deadlock: a view requested its index in the middle of a commit, and the index build
  /// waited for that commit.
  @Test(.timeLimit(.minutes(5)))
  func commitDuringAnIndexBuildRefillsALimitedView() throws {
    let (ids, _) = try listen(first(2))
    #expect(store.dropIndex(byNumber))
    var hasCommitted = false
    try store.createIndex(.rooms("k")) { _ in
      if !hasCommitted {
        hasCommitted = true
        #expect(failure { try store.commit((0..<20).map { .delete(path("rooms", "m\($0)")) }) } == nil)
        #expect(failure { try store.documents(first(1, by: "k")) } == nil, "the index that is being built")
      }
      return true
    }
    queue.sync {}
    #expect(hasCommitted)
    #expect(ids.withLock { $0 } == ["m20", "m21"])
    #expect(store.indexList.map(\.definition) == [.rooms("k")], "a commit makes no index")
    try store.checkInvariants()
  }

  /// The names are rebuilt while no commit is in progress. Otherwise, two commits and the rebuild would
  /// wait for each other.
  @Test(.timeLimit(.minutes(1)))
  func viewIsReloadedInTheBackgroundIfTheNameTreeIsLost() throws {
    let (ids, registration) = try listen(first(2))
    store.indexes.state.withLock { $0.names = nil }
    let removal = try store.begin((0..<20).map { .delete(path("rooms", "m\($0)")) })
    let other = try store.begin([set("m20", 1000), set("m200", 20)])
    try store.finish(removal)
    queue.sync {}
    #expect(ids.withLock { $0 } == ["m0", "m1"], "a state with less than the limit is invalid")
    let (otherIDs, second) = try listen(first(2))
    #expect(otherIDs.withLock { $0 } == ["m0", "m1"])
    try store.finish(other)
    DocumentStore.backgroundQueue.sync {}
    queue.sync {}
    #expect(ids.withLock { $0 } == ["m200", "m21"] && otherIDs.withLock { $0 } == ["m200", "m21"])
    #expect(store.indexes.documentCount == 81)
    try store.commit([.delete(path("rooms", "m21"))])
    queue.sync {}
    #expect(ids.withLock { $0 } == ["m200", "m22"])
    for one in [registration, second] { one.remove() }
    try store.checkInvariants()
  }

  @Test func indexOfALimitedViewStaysWhileOthersCanBeEvicted() throws {
    let (ids, registration) = try listen(first(2))
    for number in 0..<DocumentStore.automaticIndexesMax {
      _ = try store.documents(first(1, by: "other\(number)"))
    }
    let definitions = store.indexList.map(\.definition)
    #expect(definitions.contains(byNumber) && !definitions.contains(.rooms("other0")))
    try store.commit((0..<20).map { .delete(path("rooms", "m\($0)")) })
    queue.sync {}
    #expect(ids.withLock { $0 } == ["m20", "m21"])
    registration.remove()
    for number in 0..<DocumentStore.automaticIndexesMax {
      _ = try store.documents(first(1, by: "more\(number)"))
    }
    #expect(!store.indexList.map(\.definition).contains(byNumber))
  }

  @Test func aMissingIndexOfALimitedViewIsBuiltInTheBackground() throws {
    let store = try DocumentStore.openInMemory()
    try store.commit((0..<200).map { set("m\($0)", Int64($0)) })
    let registration = try store.listen(to: first(2), on: queue) { _ in }
    store.dropIndex(byNumber)
    try store.commit((0..<20).map { .delete(path("rooms", "m\($0)")) })
    for _ in 0..<10_000 where store.indexList.isEmpty { WorkerThread.yield() }
    DocumentStore.backgroundQueue.sync {}
    #expect(store.indexList.map(\.definition) == [byNumber])
    registration.remove()
    try store.close()
  }

  // MARK: Loading

  /// A source that delivers each query result too late, after more commits than the backlog of a view can
  /// hold.
  private final class BusySource: LiveSource {
    let publications = Publications()
    let answers = Locked((slow: 0, atOnce: 0))
    private let live = Locked<LiveQueries?>(nil)
    private let changes: Int
    private let bytes: Int

    init(changes: Int, bytes: Int) {
      self.changes = changes
      self.bytes = bytes
    }

    func makeLive() -> LiveQueries {
      let queries = LiveQueries(publications)
      queries.setSource(self)
      live.withLock { $0 = queries }
      return queries
    }

    private func documents(_ number: Int64) -> [StoredDocument] {
      [
        StoredDocument(
          path: path("rooms", "a"), createTime: timestamp(1), updateTime: timestamp(1),
          fields: StoredMap([("n", .integer(number))]))
      ]
    }

    func answer(_ query: StructuredQuery, seen: LiveResults) throws(DocumentStoreError) -> LiveAnswer {
      // Limits the number of late answers, so that an endless reload loop ends and fails the assertions
      // below.
      let count = answers.withLock { answers in
        answers.slow += 1
        return answers.slow
      }
      let answer = LiveAnswer(documents: documents(Int64(count)), position: publications.position)
      guard count < 5 else { return answer }
      let key = DocumentKey.encode(path("rooms", "a"))
      let changed = (0..<changes).map { _ in
        var change = CommitChange(
          path: path("rooms", "a"), key: key, before: nil, isBeforeKnown: false, after: documents(9)[0])
        change.recordBytes = bytes
        return change
      }
      publications.append(CommitEffects(timestamp(2), changed, shapes: []))
      publications.notify()
      return answer
    }

    func answerWithoutWaiting(_ query: StructuredQuery, seen: LiveResults) throws(DocumentStoreError)
      -> LiveAnswer?
    {
      answers.withLock { $0.atOnce += 1 }
      return LiveAnswer(documents: documents(100), position: publications.position)
    }

    var lastCommit: CommitMark? { nil }
    func pin(_ indexes: [IndexDefinition]) {}
    func unpin(_ indexes: [IndexDefinition]) {}
    func makeIndexes(for query: StructuredQuery, then body: @escaping @Sendable () -> Void) {}
    func runInBackground(_ body: @escaping @Sendable () -> Void) { body() }
  }

  /// A source that returns nil from `answerWithoutWaiting`. In the middle of its fourth query, it lets the
  /// view start another load.
  private final class TwiceLoadingSource: LiveSource {
    let publications = Publications()
    let answers = Locked(0)
    private let bodies = Locked<[@Sendable () -> Void]>([])

    private func document(_ number: Int) -> StoredDocument {
      StoredDocument(
        path: path("rooms", "a"), createTime: timestamp(1), updateTime: timestamp(1),
        fields: StoredMap([("n", .integer(Int64(number)))]))
    }

    func answer(_ query: StructuredQuery, seen: LiveResults) throws(DocumentStoreError) -> LiveAnswer {
      let number = answers.withLock { answers in
        answers += 1
        return answers
      }
      let answer = LiveAnswer(documents: [document(number)], position: publications.position)
      guard number <= 4 else { return answer }
      let change = CommitChange(
        path: path("rooms", "a"), key: DocumentKey.encode(path("rooms", "a")), before: nil,
        isBeforeKnown: false, after: document(0))
      let changes = Array(repeating: change, count: LiveView.backlogMax + 1)
      publications.append(CommitEffects(timestamp(2), changes, shapes: []))
      publications.notify()
      if number == 4 { runLater() }
      return answer
    }

    func answerWithoutWaiting(_ query: StructuredQuery, seen: LiveResults) throws(DocumentStoreError)
      -> LiveAnswer?
    { nil }
    func runInBackground(_ body: @escaping @Sendable () -> Void) { bodies.withLock { $0.append(body) } }

    func runLater() {
      let all = bodies.withLock { $0 }
      for body in all { body() }
    }

    var lastCommit: CommitMark? { nil }
    func pin(_ indexes: [IndexDefinition]) {}
    func unpin(_ indexes: [IndexDefinition]) {}
    func makeIndexes(for query: StructuredQuery, then body: @escaping @Sendable () -> Void) {}
  }

  /// Collects all delivered values in one list.
  private func listenerToNumbers() -> (numbers: Locked<[StoredValue?]>, LiveListener) {
    let numbers = Locked<[StoredValue?]>([])
    let listener = LiveListener(queue) { result in
      if case .success(let snapshot) = result {
        numbers.withLock { $0 += snapshot.documents.map { $0.fields["n"] } }
      }
    }
    return (numbers, listener)
  }

  /// Guards against losing a commit that is in the newer answer but not in the older one.
  @Test func olderLoadDoesNotReplaceANewerLoad() throws {
    let source = TwiceLoadingSource()
    let live = LiveQueries(source.publications)
    live.setSource(source)
    let (numbers, listener) = listenerToNumbers()
    let registration = try live.listen(try first(2), listener)
    queue.sync {}
    #expect(numbers.withLock { $0.isEmpty })
    source.runLater()
    queue.sync {}
    #expect(numbers.withLock { $0 } == [.integer(6)])
    #expect(source.answers.withLock { $0 } == 6)
    registration.remove()
  }

  /// A source with ten documents. It returns nil from `answerWithoutWaiting`.
  private final class SlowSource: LiveSource {
    let publications = Publications()

    func document(_ number: Int, n: Int? = nil) -> StoredDocument {
      StoredDocument(
        path: path("rooms", "m\(number)"), createTime: timestamp(1), updateTime: timestamp(1),
        fields: StoredMap([("n", .integer(Int64(n ?? number)))]))
    }

    func commit(at seconds: Int64, _ changes: [(before: StoredDocument, after: StoredDocument?)]) {
      let changes = changes.map { before, after in
        CommitChange(
          path: before.path, key: DocumentKey.encode(before.path), before: before, isBeforeKnown: true,
          after: after)
      }
      publications.append(CommitEffects(timestamp(seconds), changes, shapes: []))
      publications.notify()
    }

    func answer(_ query: StructuredQuery, seen: LiveResults) throws(DocumentStoreError) -> LiveAnswer {
      LiveAnswer(documents: (0..<10).map { document($0) }, position: publications.position)
    }

    func answerWithoutWaiting(_ query: StructuredQuery, seen: LiveResults) throws(DocumentStoreError)
      -> LiveAnswer?
    { nil }
    var lastCommit: CommitMark? { nil }
    func pin(_ indexes: [IndexDefinition]) {}
    func unpin(_ indexes: [IndexDefinition]) {}
    func makeIndexes(for query: StructuredQuery, then body: @escaping @Sendable () -> Void) {}
    func runInBackground(_ body: @escaping @Sendable () -> Void) {}
  }

  /// Guards against a wrong time: a listener that joined during a reload got the old state, but with the time
  /// of a later commit.
  @Test func aListenerThatJoinsDuringAReloadGetsTheOldStateAndTime() throws {
    let source = SlowSource()
    let live = LiveQueries(source.publications)
    live.setSource(source)
    func listen() throws -> (times: Locked<[StoredTimestamp?]>, registration: LiveRegistration) {
      let times = Locked<[StoredTimestamp?]>([])
      let listener = LiveListener(queue) { result in
        if case .success(let snapshot) = result { times.withLock { $0.append(snapshot.time) } }
      }
      let registration = try live.listen(try first(2), listener)
      queue.sync {}
      return (times, registration)
    }
    let early = try listen()
    let changed = source.document(0, n: -1)
    source.commit(at: 2, [(source.document(0), changed)])
    queue.sync {}
    source.commit(at: 3, [(changed, nil)] + (1..<9).map { (source.document($0), nil) })
    let late = try listen()
    #expect(early.times.withLock { $0 } == [nil, timestamp(2)])
    #expect(late.times.withLock { $0 } == [timestamp(2)])
    for registration in [early.registration, late.registration] { registration.remove() }
  }

  @Test(arguments: [
    (changes: LiveView.backlogMax + 1, bytes: 10, isLost: true),
    (changes: 20, bytes: LiveView.backlogBytesMax / 20, isLost: true),
    (changes: 20, bytes: 10, isLost: false),
  ])
  func viewLoadsDespiteMoreConcurrentChangesThanItBuffers(changes: Int, bytes: Int, isLost: Bool) throws {
    let source = BusySource(changes: changes, bytes: bytes)
    let live = source.makeLive()
    let (numbers, listener) = listenerToNumbers()
    let registration = try live.listen(try first(2), listener)
    queue.sync {}
    #expect(source.answers.withLock { [$0.slow, $0.atOnce] } == [isLost ? 3 : 1, isLost ? 1 : 0])
    #expect(numbers.withLock { $0 } == [.integer(isLost ? 100 : 9)])
    registration.remove()
  }
}

extension IndexDefinition {
  fileprivate static func rooms(_ name: String) -> IndexDefinition {
    do {
      return try IndexDefinition("rooms", .collection, [.init(field(name))])
    } catch {
      preconditionFailure("\(error)")
    }
  }
}
