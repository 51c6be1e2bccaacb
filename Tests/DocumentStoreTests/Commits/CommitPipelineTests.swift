// Concurrent commits: each depends on earlier ones, and readers see only durable state.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct CommitPipelineTests {
  private let place = path("rooms", "eros")
  private let other = path("rooms", "psyche")

  private func number(_ store: DocumentStore, _ path: DocumentPath) throws -> StoredValue? {
    try store.document(at: path)?.fields["n"]
  }

  @Test func concurrentCommitsBuildOnEachOtherAndShareOneSync() throws {
    let machine = try SimulatedStore()
    let store = machine.store
    try store.commit([increment(place)])
    let syncs = machine.disk.counters.fileSyncs
    let inProgress = try (0..<8).map { _ in try store.begin([increment(place)]) }
    #expect(try number(store, place) == .integer(1), "no reader sees a commit that is not durable")
    let times = try inProgress.map { try store.finish($0) }
    #expect(try number(store, place) == .integer(9))
    #expect(machine.disk.counters.fileSyncs - syncs == 1)
    #expect(times == times.sorted() && Set(times).count == 8)
    #expect(try machine.afterPowerLoss().store.document(at: place)?.updateTime == times.last)
  }

  @Test func aVisibleCommitReplacesEarlierPendingStates() throws {
    let store = try SimulatedStore().store
    let first = try store.begin([increment(place)])
    let second = try store.begin([increment(place)])
    // One of the two commits leads the group. The other may complete later.
    try store.finish(second)
    let third = try store.begin([increment(place)])
    try store.finish(first)
    try store.finish(third)
    #expect(try number(store, place) == .integer(3))
  }

  @Test func preconditionsSeePendingCommits() throws {
    let store = try SimulatedStore().store
    let created = try store.begin([.set(place, StoredMap(), precondition: .exists(false))])
    #expect(
      failure { _ = try store.begin([.set(place, StoredMap(), precondition: .exists(false))]) }
        == .alreadyExists("Document already exists: rooms/eros"))
    let removed = try store.begin([.delete(place, precondition: .updateTime(created.time))])
    #expect(
      failure { _ = try store.begin([increment(place, .exists(true))]) }
        == .notFound("No document to update: rooms/eros"))
    let recreated = try store.begin([increment(place)])
    for commit in [created, removed, recreated] { try store.finish(commit) }
    let document = try #require(try store.document(at: place))
    #expect(document.createTime == recreated.time)
    #expect(document.fields == StoredMap([("n", .integer(1))]))
    try store.checkInvariants()
  }

  @Test func indexesFollowEachStateOfADocumentInOrder() throws {
    let store = try SimulatedStore().store
    try store.createIndex(IndexDefinition("rooms", .collection, [.init(field("n"))]))
    let inProgress = try (0..<5).flatMap { round in
      [
        try store.begin([increment(place), increment(other)]),
        try store.begin(round % 2 == 0 ? [.delete(other)] : [increment(other), increment(other)]),
      ]
    }
    for commit in inProgress { try store.finish(commit) }
    try store.checkInvariants()
    #expect(try store.count(StructuredQuery(.collection(place.parent))) == 1)
    #expect(try number(store, place) == .integer(5))
  }

  @Test func aCommitThatDependsOnARefusedOneIsResolvedAgain() throws {
    let machine = try SimulatedStore(kibibytes: 1500)
    let store = machine.store
    try store.createIndex(IndexDefinition("rooms", .collection, [.init(field("n"))]))
    try store.commit([increment(other)])
    try machine.fillDisk()
    let refused = try store.begin([increment(place), increment(other)])
    // These commits only delete, which a full disk allows. But they depend on a commit that is refused.
    let removed = try store.begin([.delete(place, precondition: .exists(true))])
    let alsoRemoved = try store.begin([.delete(other, precondition: .exists(true))])
    guard case .full = failure(of: { try store.finish(refused) }) else {
      Issue.record("a put went to a full disk")
      return
    }
    #expect(
      failure { try store.finish(removed) } == .notFound("No document to delete: rooms/eros"))
    let time = try store.finish(alsoRemoved)
    #expect(time > alsoRemoved.time)
    #expect(try store.document(at: other) == nil)
    try store.checkInvariants()
  }

  @Test func afterAFailedSyncCommitsAreRefused() throws {
    let machine = try SimulatedStore()
    let store = machine.store
    try store.commit([increment(place)])
    let first = try store.begin([increment(place)])
    let second = try store.begin([increment(place)])
    machine.disk.failNext(.inputOutput)
    for commit in [first, second] {
      guard case .outcomeUnknown = failure(of: { try store.finish(commit) }) else {
        Issue.record("a commit was acknowledged after a failed sync")
        return
      }
    }
    guard case .outcomeUnknown = failure(of: { try store.commit([increment(place)]) }) else {
      Issue.record("a commit began after a failed sync")
      return
    }
    #expect(try number(store, place) == .integer(1))
  }
}
