// A scheduler with virtual time that runs all jobs in a deterministic order.

import ByteStore
import OfflineSync

package final class VirtualScheduler: SyncScheduler {
  private struct Job {
    let time: Int64
    let number: Int
    let body: @Sendable () -> Void
  }

  private struct State {
    var now: Int64 = 1_700_000_000_000_000
    var lastNumber = 0
    /// The jobs as a binary heap: no job is due before its parent.
    var jobs: [Job] = []
  }

  private let state = Locked(State())

  package init() {}

  /// Whether the caller is on the scheduler's thread. Always true, because no thread may wait for virtual
  /// time.
  package var isCurrent: Bool { true }

  /// The total number of jobs that were ever scheduled.
  package var jobCount: Int { state.withLock { $0.lastNumber } }

  package func now() -> Int64 { state.withLock { $0.now } }

  package func run(_ body: @escaping @Sendable () -> Void) { run(after: 0, body) }

  package func run(after microseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.lastNumber += 1
      state.jobs.append(Job(time: state.now + microseconds, number: state.lastNumber, body: body))
      Self.siftUp(&state.jobs)
    }
  }

  /// Runs the jobs that are due within the given time, but at most `max` jobs. Returns the number of jobs
  /// that ran.
  @discardableResult
  package func play(for microseconds: Int64 = .max, max: Int = 1_000_000) -> Int {
    let end = microseconds == .max ? Int64.max : now() + microseconds
    var count = 0
    while count < max, let job = next(until: end) {
      job.body()
      count += 1
    }
    if end != .max { state.withLock { $0.now = Swift.max($0.now, end) } }
    return count
  }

  /// Drops all scheduled jobs.
  package func clear() { state.withLock { $0.jobs = [] } }

  private func next(until end: Int64) -> Job? {
    state.withLock { state in
      guard let first = state.jobs.first, first.time <= end else { return nil }
      state.now = Swift.max(state.now, first.time)
      Self.removeFirst(&state.jobs)
      return first
    }
  }

  // MARK: The heap

  private static func isBefore(_ left: Job, _ right: Job) -> Bool {
    (left.time, left.number) < (right.time, right.number)
  }

  private static func siftUp(_ jobs: inout [Job]) {
    var child = jobs.count - 1
    while child > 0, isBefore(jobs[child], jobs[(child - 1) / 2]) {
      jobs.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  private static func removeFirst(_ jobs: inout [Job]) {
    jobs.swapAt(0, jobs.count - 1)
    jobs.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < jobs.count && isBefore(jobs[child], jobs[least]) {
        least = child
      }
      if least == parent { return }
      jobs.swapAt(parent, least)
      parent = least
    }
  }
}
