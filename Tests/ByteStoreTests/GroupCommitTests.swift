// Many threads, one log: under more load, the commit groups grow, but the number of syncs does not.

import ByteStore
import Harness
import Testing

struct GroupCommitTests {
  /// While one commit waits for its sync, the others queue up and share the next sync.
  @Test func commitsThatWaitTogetherShareOneSync() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([0], for: "first")
    let before = machine.disk.counters.fileSyncs
    let threads = Locked<[WorkerThread]>([])
    machine.disk.beforeNextSync {
      for number in 1...7 {
        let thread = WorkerThread { _ = try? store.put([UInt8(number)], for: "key\(number)") }
        threads.withLock { $0.append(thread) }
      }
      while store.commitsWaiting < 7 { WorkerThread.yield() }
    }
    try store.put([0], for: "leader")
    for thread in threads.withLock({ $0 }) { thread.join() }
    #expect(store.lastCommit == SequenceNumber(9))
    #expect(machine.disk.counters.fileSyncs - before == 2)
  }

  @Test func groupSurvivesAPowerLossAsAWhole() throws {
    let machine = TestStore()
    let store = try machine.open()
    runEightThreads(store, machine.disk, commitsEach: 25)
    let recovered = try machine.after(.powerLoss(.nothing, seed: 0)).open()
    #expect(recovered.count == 200)
    var wrong: [String] = []
    for thread in 0..<8 {
      for number in 0..<25 {
        let key = "\(thread)-\(number)"
        if try recovered.value(for: key) != [UInt8(thread), UInt8(number)] { wrong.append(key) }
      }
    }
    #expect(wrong == [])
  }

  /// Regression: a commit was enqueued but never finished, for example because the caller failed in between.
  /// A close waited for this commit forever.
  @Test func closeCommitsUnfinishedEnqueuedCommits() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([1], for: "first")
    var batch = Batch()
    try batch.put([2], for: Array("dropped".utf8))
    _ = try store.enqueue(batch)
    try store.close()
    let again = try machine.open()
    #expect(try again.value(for: "dropped") == [2])
    #expect(again.recoveryReport.wasClosedCleanly)
    try again.close()
  }

  @Test func abandonDropsUnfinishedEnqueuedCommits() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([1], for: "first")
    let half = try store.enqueue(Batch())
    store.abandon()
    #expect(throws: ByteStoreError.closed(directory: TestStore.path)) { try store.finish(half) }
    #expect(half.isRefused)
    let again = try machine.open()
    #expect(again.lastCommit == SequenceNumber(1))
    try again.close()
  }

  @Test func eightThreadsNeedFewerSyncsThanCommits() throws {
    let machine = TestStore()
    let store = try machine.open()
    runEightThreads(store, machine.disk, commitsEach: 25)
    #expect(store.lastCommit == SequenceNumber(200))
    #expect(machine.disk.counters.fileSyncs < 100)
  }

  /// Each sync lasts until all other threads have queued up or a time limit is reached, so that groups form
  /// even on one core.
  private func runEightThreads(_ store: ByteStore, _ disk: SimulatedDisk, commitsEach: Int) {
    let running = Locked(8)
    holdEachSync(disk) { store.commitsWaiting < running.withLock { $0 } - 1 }
    let threads = (0..<8).map { thread in
      WorkerThread {
        for number in 0..<commitsEach {
          _ = try? store.put([UInt8(thread), UInt8(number)], for: "\(thread)-\(number)")
        }
        running.withLock { $0 -= 1 }
      }
    }
    for thread in threads { thread.join() }
  }

  private func holdEachSync(_ disk: SimulatedDisk, while condition: @escaping @Sendable () -> Bool) {
    disk.beforeNextSync {
      holdEachSync(disk, while: condition)
      let end = ContinuousClock.now + .milliseconds(20)
      while condition(), ContinuousClock.now < end { WorkerThread.yield() }
    }
  }
}
