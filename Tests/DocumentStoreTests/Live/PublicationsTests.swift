// The queue of published commits.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct PublicationsTests {
  private final class Observer: CommitObserver {
    let calls = Locked(0)
    func observe() { calls.withLock { $0 += 1 } }
  }

  private let publications = Publications()
  private let observer = Observer()

  private func publish(_ number: Int64, changesDocument: Bool = true) {
    let document = StoredDocument(
      path: path("rooms", "a"), createTime: .epoch, updateTime: .epoch,
      fields: StoredMap([("n", .integer(number))]))
    let change = CommitChange(
      path: document.path, key: DocumentKey.encode(document.path), before: nil, isBeforeKnown: true,
      after: document)
    publications.append(CommitEffects(timestamp(number), changesDocument ? [change] : [], shapes: []))
    publications.notify()
  }

  private func observe(number: Int) { publications.observe("rooms", number: number, observer: observer) }

  private func takenNumbers() -> [UInt64] {
    var taken: [Publication] = []
    _ = publications.take(&taken)
    return taken.map(\.number)
  }

  @Test func aCommitWithoutObserversIsOnlyCounted() {
    publish(1)
    observe(number: 1)
    #expect(publications.position == 1 && publications.markIfQueueIsEmpty?.time == nil)
    #expect(takenNumbers() == [] && observer.calls.withLock { $0 } == 0)
  }

  @Test func commitsAreQueuedInOrderWithTheirTime() {
    publish(1)
    observe(number: 1)
    publish(2)
    publish(3)
    #expect(observer.calls.withLock { $0 } == 2)
    #expect(publications.markIfQueueIsEmpty?.time == nil, "two commits wait")
    var taken: [Publication] = []
    #expect(publications.take(&taken)?.time == timestamp(3))
    #expect(taken.map(\.number) == [2, 3])
    #expect(
      publications.markIfQueueIsEmpty?.time == timestamp(3), "the time is kept after the commits were taken")
  }

  /// Commits that change only the store's own keys contain no document changes.
  @Test func aCommitWithoutDocumentsIsCountedAndNotQueued() {
    observe(number: 1)
    publish(1, changesDocument: false)
    #expect(publications.position == 1 && publications.markIfQueueIsEmpty?.time == timestamp(1))
    #expect(takenNumbers() == [])
  }

  /// A listener that joins meanwhile still gets the old state, so the new time must not be visible.
  @Test func aReloadReplacesTheQueueAndItsTimeIsHiddenUntilItIsTaken() {
    observe(number: 1)
    publish(1)
    publications.appendReload(at: timestamp(7))
    #expect(publications.position == 2 && takenNumbers() == [])
    #expect(publications.markIfQueueIsEmpty?.time == nil)
    #expect(publications.takeReload().time == timestamp(7))
    #expect(publications.markIfQueueIsEmpty?.time == timestamp(7))
  }

  /// A commit that is published while the first observer comes may not be queued. Streams must not wait for
  /// it.
  @Test func aSnapshotCountsCommitsThatTheFirstObserverMissed() {
    publish(1)
    observe(number: 1)
    publications.noteSnapshot(through: 2)
    #expect(publications.markIfQueueIsEmpty == CommitMark(number: 2))
    publications.noteSnapshot(through: 1)
    #expect(publications.markIfQueueIsEmpty?.number == 2)
  }

  @Test func nothingIsQueuedAfterTheLastViewHasLeft() {
    observe(number: 5)
    observe(number: 6)
    publications.stopObserving(number: 5)
    #expect(publications.isObserved("rooms") && !publications.isObserved("halls"))
    publish(1)
    publications.stopObserving(number: 6)
    #expect(!publications.isObserved && !publications.isObserved("rooms"))
    publish(2)
    #expect(publications.position == 2)
    #expect(takenNumbers() == [] && publications.markIfQueueIsEmpty?.time == nil)
    #expect(observer.calls.withLock { $0 } == 1)
  }

  @Test func stoppingAllDropsTheQueueAndLaterRegistrationsStartAnew() {
    observe(number: 1)
    publish(1)
    publications.stopObservingAll()
    #expect(!publications.isObserved && takenNumbers() == [])
    observe(number: 2)
    #expect(publications.markIfQueueIsEmpty?.time == nil)
    publish(2)
    #expect(takenNumbers() == [2])
  }
}
