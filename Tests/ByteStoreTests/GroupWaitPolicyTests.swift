// How long a leader waits for its commit group to fill.

import Harness
import Testing

@testable import ByteStore

@Suite("How a leader gets a full group")
struct GroupWaitPolicyTests {
  @Test("a single writer never waits")
  func singleWriterNeverWaits() {
    var groupWaitPolicy = GroupWaitPolicy()
    var waits: [UInt64] = []
    for _ in 0..<10 {
      waits.append(groupWaitPolicy.waitNanoseconds(with: 1))
      groupWaitPolicy.groupEnded(1, queued: 0, syncNanoseconds: 100_000)
    }
    #expect(waits == [UInt64](repeating: 0, count: 10))
  }

  @Test("a group is full when as many wait as the last group held or kept waiting")
  func groupIsCompleteAtTheExpectedSize() {
    var groupWaitPolicy = GroupWaitPolicy()
    groupWaitPolicy.groupEnded(3, queued: 1, syncNanoseconds: 100_000)
    #expect(!groupWaitPolicy.isComplete(3) && groupWaitPolicy.isComplete(4) && groupWaitPolicy.isComplete(5))
  }

  @Test("a leader waits for those that the last group held or kept waiting, for half a sync")
  func leaderWaitsForTheExpectedGroupForHalfASync() {
    var groupWaitPolicy = GroupWaitPolicy()
    for _ in 0..<100 { groupWaitPolicy.groupEnded(7, queued: 1, syncNanoseconds: 100_000) }
    #expect(groupWaitPolicy.expected == 8)
    #expect((40_000...50_000).contains(groupWaitPolicy.waitNanoseconds(with: 1)))
    #expect(groupWaitPolicy.waitNanoseconds(with: 8) == 0)
    groupWaitPolicy.groupEnded(8, queued: 0, syncNanoseconds: 1_000_000_000)
    #expect(groupWaitPolicy.waitNanoseconds(with: 1) == 1_000_000, "a slow device does not mean a long wait")
  }

  @Test("a wait in vain is tried ever more rarely, until it helps again")
  func fruitlessWaitsBecomeRarerUntilOneHelps() {
    var groupWaitPolicy = GroupWaitPolicy()
    groupWaitPolicy.groupEnded(2, queued: 0, syncNanoseconds: 100_000)
    var waits: [Int] = []
    for leader in 0..<1000 where groupWaitPolicy.waitNanoseconds(with: 1) > 0 {
      waits.append(leader)
      groupWaitPolicy.waitEnded(groupSize: 1)
    }
    #expect(waits.prefix(4) == [0, 2, 6, 14])
    #expect(waits.count < 25)
    while groupWaitPolicy.waitNanoseconds(with: 1) == 0 {}
    groupWaitPolicy.waitEnded(groupSize: 2)
    #expect(groupWaitPolicy.waitNanoseconds(with: 1) > 0)
    #expect(groupWaitPolicy.waitNanoseconds(with: 1) > 0)
  }
}

/// Threads that wait up to a millisecond for their group to fill.
@Suite("Waiting for a full group") struct GroupWaitTests {
  /// Sets the expected size of the next group.
  private func expect(_ count: Int, _ store: ByteStore) {
    store.state.withLock { state in
      state.groupWaitPolicy = GroupWaitPolicy()
      for _ in 0..<100 { state.groupWaitPolicy.groupEnded(count, queued: 0, syncNanoseconds: 2_000_000) }
    }
  }

  private func waitForWaitingLeader(_ store: ByteStore, orThat isDone: () -> Bool) {
    while !isDone(), store.state.withLock({ $0.waitingLeader == nil }) { WorkerThread.yield() }
  }

  @Test("a leader without followers commits when its time is up")
  func leaderWithoutFollowersCommitsAfterItsWait() throws {
    let machine = TestStore()
    let store = try machine.open()
    var busyAfter: [Int] = []
    for number in 0..<20 {
      expect(9, store)
      try store.put([UInt8(number)], for: "key")
      if store.state.withLock({ $0.waitingLeader != nil || $0.isLeading }) { busyAfter.append(number) }
    }
    #expect(busyAfter == [])
    #expect(store.lastCommit == SequenceNumber(20))
    try store.close()
  }

  /// The other thread may be too late in some rounds, but not in all of them.
  @Test("the commit that fills the group leads it: one sync for both")
  func commitThatCompletesTheGroupLeadsItWithOneSync() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([0], for: "first")
    var shared = 0
    var lost: [Int] = []
    for number in 0..<1000 where shared == 0 {
      expect(2, store)
      let before = machine.disk.counters.fileSyncs
      let isDone = Locked(false)
      let thread = WorkerThread {
        _ = try? store.put([1], for: "host\(number)")
        isDone.withLock { $0 = true }
      }
      waitForWaitingLeader(store) { isDone.withLock { $0 } }
      try store.put([2], for: "guest\(number)")
      thread.join()
      if machine.disk.counters.fileSyncs - before == 1 { shared += 1 }
      if try store.value(for: "host\(number)") != [1] { lost.append(number) }
    }
    #expect(lost == [])
    #expect(shared == 1)
    try store.close()
  }

  @Test("a store that is abandoned, or closed, releases a leader")
  func abandonAndCloseReleaseAWaitingLeader() throws {
    var wrong: [String] = []
    for round in 0..<40 {
      let machine = TestStore()
      let store = try machine.open()
      try store.put([0], for: "first")
      expect(9, store)
      let outcome = Locked<Result<SequenceNumber, any Error>?>(nil)
      let thread = WorkerThread {
        let result = Result { try store.put([1], for: "second") }
        outcome.withLock { $0 = result }
      }
      waitForWaitingLeader(store) { outcome.withLock { $0 != nil } }
      if round % 2 == 0 { store.abandon() } else { try store.close() }
      thread.join()
      let again = try machine.open()
      let isThere = try again.value(for: "second") == [1]
      switch try #require(outcome.withLock { $0 }) {
      case .success: if !isThere { wrong.append("round \(round): lost a value") }
      case .failure(let error):
        if error as? ByteStoreError != .closed(directory: TestStore.path) {
          wrong.append("round \(round): \(error)")
        }
      }
      try again.close()
    }
    #expect(wrong == [])
  }
}
