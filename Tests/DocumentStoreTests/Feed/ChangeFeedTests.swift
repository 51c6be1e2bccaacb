// The change feed: its entries, its consumers, and its limits.

import ByteStore
import Dispatch
import Harness
import Testing

@testable import DocumentStore

@Suite struct ChangeFeedTests {
  private let place = path("rooms", "eros")

  private func names(_ commits: [FeedCommit]) -> [[String]] {
    commits.map { commit in
      commit.changes.map { change in
        switch change.outcome {
        case .written(let document): "\(change.path.id)=\(document.fields["n"].map { "\($0)" } ?? "")"
        case .removed: "-\(change.path.id)"
        case .writtenWithMuchElse: "\(change.path.id)?"
        }
      }
    }
  }

  private func set(_ id: String, _ number: Int64) -> Mutation {
    .set(path("rooms", id), StoredMap([("n", .integer(number))]))
  }

  @Test func consumerReadsLaterCommitsInOrder() throws {
    let store = try SimulatedStore().store
    try store.commit([set("before", 1)])
    let consumer = try store.feedConsumer("a")
    #expect(try consumer.read().isEmpty)
    let time = try store.commit([set("a", 1), set("b", 2)])
    try store.commit([set("a", 1)])
    try store.commit([.delete(path("rooms", "b")), set("a", 3)])
    let commits = try consumer.read()
    #expect(names(commits) == [["a=integer(1)", "b=integer(2)"], ["-b", "a=integer(3)"]])
    #expect(commits[0].time == time)
    #expect(try consumer.read().isEmpty)
    #expect(store.count == 2, "nothing else counts as a document")
    try store.checkInvariants()
  }

  @Test func documentsOfTheFeedStayEncoded() throws {
    let store = try SimulatedStore().store
    let consumer = try store.feedConsumer("a")
    try store.commit([set("a", 1)])
    guard case .written(let document)? = try consumer.read().first?.changes.first?.outcome else {
      Issue.record("the feed lacks the document")
      return
    }
    #expect(document.fields.record != nil)
    #expect(document == (try store.document(at: path("rooms", "a"))))
  }

  @Test func aPositionSurvivesOpeningsAndPowerLosses() throws {
    var machine = try SimulatedStore()
    let consumer = try machine.store.feedConsumer("a")
    for number in 1...5 { try machine.store.commit([set("a", Int64(number))]) }
    let commits = try consumer.read(max: 2)
    try consumer.acknowledge(commits[1].position)
    #expect(try consumer.read(max: 2).count == 2, "read, and not acknowledged")
    machine = try machine.afterPowerLoss()
    var again = try machine.store.feedConsumer("a")
    #expect(names(try again.read()) == [["a=integer(3)"], ["a=integer(4)"], ["a=integer(5)"]])
    try machine.store.commit([set("a", 6)])
    try machine.store.compact()
    try machine.store.close()
    machine = try SimulatedStore(machine.disk.image)
    again = try machine.store.feedConsumer("a")
    #expect(try again.read().count == 4)
    #expect(machine.store.count == 1)
  }

  @Test func acknowledgedEntriesAreDroppedAndAllOnceNoConsumerIsLeft() throws {
    let store = try SimulatedStore().store
    let keys = { store.statistics.keys - store.count }
    // A shape is stored after its names have occurred a few times. These commits store it before the keys are
    // counted.
    for number in 1...4 { try store.commit([set("a", Int64(-number))]) }
    let first = try store.feedConsumer("a")
    let second = try store.feedConsumer("b")
    #expect(store.feedConsumers == ["a", "b"])
    let empty = keys()
    for number in 1...600 { try store.commit([set("a", Int64(number))]) }
    #expect(keys() == empty + 600)
    try first.acknowledge(FeedPosition(600))
    #expect(keys() == empty + 600)
    try second.acknowledge(FeedPosition(100))
    #expect(keys() == empty + 500)
    #expect(try second.read(max: 1).map(\.position) == [FeedPosition(101)])
    try second.unregister()
    #expect(keys() == empty)
    try first.unregister()
    try store.commit([set("a", 0)])
    #expect(keys() == empty, "there is no reader, and nothing is kept")
    let third = try store.feedConsumer("c")
    // The feed lacks a commit, so the positions before it are no longer valid.
    #expect(third.position == FeedPosition(601))
  }

  @Test func entriesBeyondTheLimitAreTruncatedWithAnError() throws {
    let store = try SimulatedStore().store
    let consumer = try store.feedConsumer("a")
    let text = StoredValue.bytes([UInt8](repeating: 1, count: 40_000))
    for _ in 0..<300 {
      try store.commit([.set(place, StoredMap([("t", text), ("n", .integer(0))]))] + [increment(place)])
    }
    guard case .feedTruncated = failure(of: { try consumer.read() }) else {
      Issue.record("a removed entry was read")
      return
    }
    consumer.skipToStart()
    let rest = try consumer.read(max: 1000)
    #expect(rest.last?.position == FeedPosition(300))
    #expect((50..<299).contains(rest.count))
  }

  @Test func oldEntriesAreTrimmedRegardlessOfSize() throws {
    let clock = HandClock(1_700_000_000_000_000)
    let directory = TemporaryDirectory()
    let store = try DocumentStore.open(directory, clock)
    let consumer = try store.feedConsumer("a")
    try store.commit([set("a", 1)])
    clock.set(1_700_000_000_000_000 + 8 * 86_400 * 1_000_000)
    try store.commit([set("a", 2)])
    try store.trimFeed()
    guard case .feedTruncated = failure(of: { try consumer.read() }) else {
      Issue.record("a removed entry was read")
      return
    }
    consumer.skipToStart()
    #expect(names(try consumer.read()) == [["a=integer(2)"]])
    try store.close()
  }

  @Test func aCommitThatWasRefusedLeavesNothingInTheFeed() throws {
    let machine = try SimulatedStore(kibibytes: 1500)
    let consumer = try machine.store.feedConsumer("a")
    try machine.fillDisk()
    var commits: [FeedCommit] = []
    while true {
      let more = try consumer.read()
      if more.isEmpty { break }
      commits += more
    }
    #expect(commits.count == machine.store.count)
    #expect(Set(commits.map(\.position)).count == commits.count)
  }

  /// Guards against counting the entries of refused commits. A count that is too high would make the feed
  /// drop unread entries.
  @Test func refusedCommitsAreNotCountedInTheFeed() throws {
    let machine = try SimulatedStore(kibibytes: 2500)
    let consumer = try machine.store.feedConsumer("a")
    try machine.fillDisk()
    let ledger = machine.store.pipeline.feed
    let large = StoredValue.bytes([UInt8](repeating: 1, count: 900_000))
    for number in 0..<10 {
      let commit = [Mutation.set(path("rooms", "large \(number)"), StoredMap([("t", large)]))]
      guard case .full = failure(of: { try machine.store.commit(commit) }) else {
        Issue.record("a large document went to a full disk")
        return
      }
    }
    #expect(machine.store.pipeline.feed.bytes == ledger.bytes)
    #expect(machine.store.pipeline.feed.inProgress == 0)
    try machine.store.trimFeed()
    #expect(try consumer.read(max: 1).map(\.position.value) == [1])
  }

  /// The count on disk may include entries of refused commits; dropping the last entry resets it to zero.
  @Test func theByteCountIsResetWithTheLastEntry() throws {
    var ledger = FeedLedger()
    let first = ledger.add(bytes: 100)
    _ = ledger.add(bytes: 50)
    ledger.complete(bytes: 100, succeeded: true)
    #expect(ledger.inProgress == 1 && ledger.bytes == 150)
    ledger.complete(bytes: 50, succeeded: false)
    #expect(ledger.inProgress == 0 && ledger.bytes == 100)
    let gone = [false, true].map { ledger.drop(through: first, bytes: 30, isLast: $0) }
    #expect(gone == [30, 70])
    #expect(ledger.bytes == 0)
    ledger.rollBackChange(from: first, bytes: 70)
    #expect(ledger.bytes == 70 && ledger.first == first)
  }

  @Test func aConsumerKeepsItsPositionIfAcknowledgingFails() throws {
    let machine = try SimulatedStore(kibibytes: 1500)
    let store = machine.store
    let consumer = try store.feedConsumer("a")
    try machine.fillDisk()
    // Fill the disk to the last page.
    while failure(of: { try store.commit([increment(place)]) }) == nil {}
    let read = try consumer.read(max: 3)
    #expect(failure(of: { try consumer.acknowledge(read[2].position) }) != nil)
    #expect(try store.feedConsumer("a").position == FeedPosition(0))
    #expect(try store.feedConsumer("a").read(max: 1).map(\.position.value) == [1])
    #expect(failure(of: { try consumer.unregister() }) != nil)
    #expect(store.feedConsumers == ["a"])
    #expect(failure(of: { try store.feedConsumer("b") }) != nil)
    #expect(store.feedConsumers == ["a"])
  }

  @Test func entryCommittedAfterTheLastConsumerLeftIsRemoved() throws {
    let store = try SimulatedStore().store
    for number in 1...4 { try store.commit([set("a", Int64(-number))]) }
    let keys = { store.statistics.keys - store.count }
    let consumer = try store.feedConsumer("a")
    let empty = keys()
    // The commit gets its position before the consumer is removed, and becomes visible afterwards.
    let inProgress = try store.begin([set("a", 1)])
    store.pipeline.withFeed { $0.consumers["a"] = nil }
    try store.finish(inProgress)
    #expect(keys() == empty)
    #expect(consumer.name == "a")
  }

  @Test func canonicallyEquivalentConsumerNamesAreRefused() throws {
    let store = try SimulatedStore().store
    _ = try store.feedConsumer("caf\u{e9}")
    #expect(
      failure(of: { try store.feedConsumer("cafe\u{301}") })?.complaint?.contains("other bytes") == true)
    _ = try store.feedConsumer("caf\u{e9}")
    #expect(store.feedConsumers == ["caf\u{e9}"])
  }

  @Test func feedEntryOfALargeCommitHoldsOnlyPaths() throws {
    let store = try SimulatedStore().store
    let consumer = try store.feedConsumer("a")
    let bytes = StoredValue.bytes([UInt8](repeating: 1, count: 700_000))
    try store.commit(["a", "b"].map { .set(path("rooms", $0), StoredMap([("t", bytes)])) })
    #expect(names(try consumer.read()) == [["a?", "b?"]])
  }

  @Test func pendingCommitIsNotReportedAsAGap() throws {
    let store = try SimulatedStore().store
    let consumer = try store.feedConsumer("a")
    let inProgress = try store.begin([set("a", 1)])
    #expect(try consumer.read().isEmpty)
    try store.finish(inProgress)
    #expect(try consumer.read().count == 1)
  }

  @Test func aWakerIsCalledWhenThereIsSomethingToRead() throws {
    let store = try SimulatedStore().store
    let consumer = try store.feedConsumer("a")
    let queue = DispatchQueue(label: "feed")
    let read = Locked(0)
    let waker = consumer.onCommit(queue) {
      let count = (try? consumer.read(max: 1000).count) ?? 0
      read.withLock { $0 += count }
    }
    for number in 0..<50 { try store.commit([set("a", Int64(number))]) }
    queue.sync {}
    #expect(read.withLock { $0 } == 50)
    withExtendedLifetime(waker) {}
  }

  /// Guards against a missed wake-up: a commit had no feed entry when it got its position, but had a feed
  /// entry after it was resolved again.
  @Test func aCommitThatIsResolvedAgainWakesFeedConsumers() throws {
    let machine = try SimulatedStore(kibibytes: 1500)
    let store = machine.store
    let consumer = try store.feedConsumer("a")
    let position = store.pipeline.feed.consumers["a"]
    let queue = DispatchQueue(label: "feed")
    let woken = Locked(0)
    let waker = consumer.onCommit(queue) { woken.withLock { $0 += 1 } }
    // For a while, there is no consumer.
    store.pipeline.withFeed { $0.consumers["a"] = nil }
    try store.commit([set("b", 1)])
    try machine.fillDisk()
    let refused = try store.begin([set("a", 1), set("b", 2)])
    let removed = try store.begin([.delete(path("rooms", "b"), precondition: .exists(true))])
    guard case .full = failure(of: { try store.finish(refused) }) else {
      Issue.record("a put went to a full disk")
      return
    }
    try store.commit((0..<100).map { .delete(path("filler", "\($0)")) })
    try store.compact()
    queue.sync {}
    let before = woken.withLock { $0 }
    store.pipeline.withFeed { $0.consumers["a"] = position }
    try store.finish(removed)
    queue.sync {}
    #expect(try names(consumer.read()) == [["-b"]])
    #expect(woken.withLock { $0 } > before)
    withExtendedLifetime(waker) {}
  }
}
