// `afterCommits` while other threads publish commits during the reload of a view.

import ByteStore
import Dispatch
import Testing

@testable import DocumentStore

@Suite struct LiveRoundTests {
  /// A source with numbered documents in the collections "rooms" and "halls". It calls `publish` during each
  /// reload, to publish another commit, as another thread may do. Such a thread cannot notify the views yet,
  /// because the lock of `LiveQueries` is held.
  private final class PublishingSource: LiveSource {
    let publications = Publications()
    let reloads = Locked(0)
    private let numbers = Locked(["rooms": Array(0..<1000), "halls": Array(0..<1000)])
    private let publish: @Sendable (PublishingSource, _ collectionID: String) -> Void

    init(_ publish: @escaping @Sendable (PublishingSource, _ collectionID: String) -> Void) {
      self.publish = publish
    }

    private func document(_ number: Int, in collectionID: String) -> StoredDocument {
      StoredDocument(
        path: path(collectionID, "m\(number)"), createTime: timestamp(1), updateTime: timestamp(1),
        fields: StoredMap([("n", .integer(Int64(number)))]))
    }

    /// Publishes a commit that deletes the first documents of a collection. Does not notify the views.
    func remove(_ count: Int, from collectionID: String) {
      let removed = numbers.withLock { numbers in
        let removed = Array(numbers[collectionID, default: []].prefix(count))
        numbers[collectionID, default: []].removeFirst(removed.count)
        return removed
      }
      let changes = removed.map { number in
        let old = document(number, in: collectionID)
        return CommitChange(
          path: old.path, key: DocumentKey.encode(old.path), before: old, isBeforeKnown: true, after: nil)
      }
      publications.append(CommitEffects(timestamp(2), changes, shapes: []))
    }

    func answer(_ query: StructuredQuery, seen: LiveResults) throws(DocumentStoreError) -> LiveAnswer {
      let id = query.scope.collectionID
      var found = numbers.withLock { $0[id, default: []] }
      if case .first(let count) = query.limit { found = Array(found.prefix(count)) }
      return LiveAnswer(documents: found.map { document($0, in: id) }, position: publications.position)
    }

    func answerWithoutWaiting(_ query: StructuredQuery, seen: LiveResults) throws(DocumentStoreError)
      -> LiveAnswer?
    {
      reloads.withLock { $0 += 1 }
      publish(self, query.scope.collectionID)
      return try answer(query, seen: seen)
    }

    var lastCommit: CommitMark? { nil }
    func pin(_ indexes: [IndexDefinition]) {}
    func unpin(_ indexes: [IndexDefinition]) {}
    func makeIndexes(for query: StructuredQuery, then body: @escaping @Sendable () -> Void) {}
    func runInBackground(_ body: @escaping @Sendable () -> Void) {}
  }

  private let queue = DispatchQueue(label: "listeners")

  private func makeLive(_ source: PublishingSource) -> LiveQueries {
    let live = LiveQueries(source.publications)
    live.setSource(source)
    return live
  }

  private func all(_ collectionID: String) throws -> StructuredQuery {
    try StructuredQuery(.collection(path(collectionID, "x").parent)).ordered(by: OrderBy(field("n")))
  }

  private func firstTwo(_ collectionID: String) throws -> StructuredQuery {
    try all(collectionID).limited(to: .first(2))
  }

  /// Returns the document ids that the listener received last.
  private func listen(to query: StructuredQuery, _ live: LiveQueries) throws -> Locked<[String]> {
    let ids = Locked<[String]>([])
    let listener = LiveListener(queue) { result in
      if case .success(let snapshot) = result { ids.withLock { $0 = snapshot.documents.map(\.path.id) } }
    }
    _ = try live.listen(query, listener)
    queue.sync {}
    return ids
  }

  /// Guards against an in-sync event in the middle of a round: a reloaded view already showed a commit that
  /// the other views did not show yet.
  @Test func allViewsShowTheCommitsThatAReloadIncludes() throws {
    let source = PublishingSource { source, _ in source.remove(1, from: "rooms") }
    let live = makeLive(source)
    let limited = try listen(to: firstTwo("rooms"), live)
    let unlimited = try listen(to: all("rooms"), live)
    source.remove(9, from: "rooms")
    let seen = Locked<[[String]]>([])
    let hasLaterOffer = Locked(true)
    live.afterCommits { offerCount in
      queue.async {
        let states = [limited.withLock { $0 }, unlimited.withLock { Array($0.prefix(2)) }]
        seen.withLock { $0 = states }
        hasLaterOffer.withLock { $0 = live.offerCount != offerCount }
      }
    }
    queue.sync {}
    #expect(!hasLaterOffer.withLock { $0 }, "in-sync listeners are notified, because no later offer exists")
    #expect(seen.withLock { $0 } == [["m10", "m11"], ["m10", "m11"]])
    #expect(source.reloads.withLock { $0 } == 1)
  }

  /// During each reload, a commit deletes all documents of the other view.
  @Test func passesAreLimitedIfEachReloadRequiresAnother() throws {
    let source = PublishingSource { source, collectionID in
      source.remove(10, from: collectionID == "rooms" ? "halls" : "rooms")
    }
    let live = makeLive(source)
    for collectionID in ["rooms", "halls"] { _ = try listen(to: firstTwo(collectionID), live) }
    source.remove(10, from: "rooms")
    let reloads = (1...2).map { _ in
      var isCalled = false
      live.afterCommits { _ in isCalled = true }
      return isCalled ? source.reloads.withLock { $0 } : nil
    }
    #expect(reloads == [LiveQueries.passesMax, 2 * LiveQueries.passesMax])
  }
}
