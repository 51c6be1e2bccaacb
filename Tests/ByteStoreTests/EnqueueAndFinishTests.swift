// Commits in two halves: commits that wait between `enqueue` and `finish`.

import Harness
import Testing

@testable import ByteStore

@Suite struct EnqueueAndFinishTests {
  private func enqueue(
    _ key: String, in store: ByteStore, _ dependencies: [PendingCommit] = []
  ) throws(ByteStoreError) -> PendingCommit {
    var batch = Batch()
    try batch.put([1], for: Array(key.utf8))
    return try store.enqueue(batch, dependencies: dependencies)
  }

  /// Regression: when a group ended, the first commit of the queue was woken to lead the next group. No
  /// thread was in `finish` for that commit yet, so the second commit of the queue slept until another commit
  /// arrived.
  @Test func waiterAfterAnUnfinishedCommitLeadsTheNextGroup() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([0], for: "first")
    let pending = Locked<[PendingCommit]>([])
    let isDone = Locked(false)
    let threads = Locked<[WorkerThread]>([])
    machine.disk.beforeNextSync {
      guard let early = try? enqueue("early", in: store), let late = try? enqueue("late", in: store) else {
        return
      }
      pending.withLock { $0 = [early] }
      let thread = WorkerThread {
        _ = try? store.finish(late)
        isDone.withLock { $0 = true }
      }
      threads.withLock { $0.append(thread) }
      while !store.state.withLock({ _ in late.ticket.isAwaited }) { WorkerThread.yield() }
      // Lets the thread fall asleep.
      for _ in 0..<1000 { WorkerThread.yield() }
    }
    try store.put([0], for: "leader")
    for _ in 0..<100_000 where !isDone.withLock({ $0 }) { WorkerThread.yield() }
    #expect(isDone.withLock { $0 })
    for early in pending.withLock({ $0 }) { try store.finish(early) }
    for thread in threads.withLock({ $0 }) { thread.join() }
    #expect(store.count == 4)
  }

  /// Regression: a long chain of dependent commits was queued when a sync failed. Each commit referenced the
  /// commit before it, so the release of the last commit released all others recursively and overflowed the
  /// stack.
  @Test func longChainOfFailedCommitsIsReleased() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([0], for: "first")
    let last = Locked<PendingCommit?>(nil)
    machine.disk.beforeNextSync {
      var previous: [PendingCommit] = []
      for _ in 0..<200_000 {
        guard let next = try? enqueue("key", in: store, previous) else { return }
        previous = [next]
      }
      last.withLock { $0 = previous.first }
      machine.disk.failNext(.inputOutput)
    }
    _ = try storeError { () throws(ByteStoreError) in try store.put([0], for: "leader") }
    let end = try #require(last.withLock { $0 })
    #expect(end.isRefused)
    last.withLock { $0 = nil }
    _ = try storeError { () throws(ByteStoreError) in try store.finish(end) }
  }
}
