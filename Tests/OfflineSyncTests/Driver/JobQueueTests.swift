// The order of the jobs in virtual time.

import ByteStore
import Harness
import OfflineSync
import Testing

@Suite struct JobQueueTests {
  private let ran = Locked<[String]>([])

  private func add(_ name: String, at time: Int64, isLate: Bool = false, to queue: inout JobQueue) {
    queue.add(at: time, isLate: isLate) { [ran] in ran.withLock { $0.append(name) } }
  }

  private func runAll(_ queue: inout JobQueue, dueAt time: Int64 = .max) -> [String] {
    while let (_, body) = queue.removeNext(dueAt: time) { body() }
    return ran.withLock { $0 }
  }

  @Test func jobsRunByTimeAndThenInTheOrderInWhichTheyWereAdded() {
    var queue = JobQueue()
    for (name, time) in [("c", 5), ("a", 1), ("d", 5), ("b", 1), ("e", 9)] {
      add(name, at: Int64(time), to: &queue)
    }
    #expect(queue.nextTime == 1)
    #expect(runAll(&queue, dueAt: 5) == ["a", "b", "c", "d"])
    #expect(queue.nextTime == 9)
    #expect(queue.addedCount == 5)
  }

  @Test func lateJobsComeAfterAllOthersOfTheirTime() {
    var queue = JobQueue()
    add("late", at: 1, isLate: true, to: &queue)
    add("later", at: 1, isLate: true, to: &queue)
    add("first", at: 1, to: &queue)
    add("second", at: 2, to: &queue)
    #expect(runAll(&queue) == ["first", "late", "later", "second"])
  }

  @Test func manyJobsKeepTheirOrder() {
    var (queue, rng) = (JobQueue(), SeededRandom(seed: 1))
    var times: [Int64] = []
    for _ in 0..<1000 {
      times.append(Int64(rng.below(50)))
      add("", at: times[times.count - 1], to: &queue)
    }
    var found: [Int64] = []
    while let (time, _) = queue.removeNext(dueAt: .max) { found.append(time) }
    #expect(found == times.sorted())
  }
}
