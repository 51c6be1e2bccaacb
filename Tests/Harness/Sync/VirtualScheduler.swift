// A scheduler with virtual time that runs all jobs in a deterministic order.

import ByteStore
import OfflineSync

package final class VirtualScheduler: PlayedScheduler {
  private struct State {
    var now: Int64 = 1_700_000_000_000_000
    var jobs = JobQueue()
  }

  private let state = Locked(State())

  package init() {}

  /// Whether the caller is on the scheduler's thread. Always true, because no thread may wait for virtual
  /// time.
  package var isCurrent: Bool { true }

  /// The total number of jobs that were ever scheduled.
  package var jobCount: Int { state.withLock { $0.jobs.addedCount } }

  package func now() -> Int64 { state.withLock { $0.now } }

  package func run(_ body: @escaping @Sendable () -> Void) { run(after: 0, body) }

  package func run(after microseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.jobs.add(at: $0.now + microseconds, body) }
  }

  package func play(for microseconds: Int64) { play(for: microseconds, max: 1_000_000) }

  /// Runs the jobs that are due within the given time, but at most `max` jobs. Returns the number of jobs
  /// that ran.
  @discardableResult
  package func play(for microseconds: Int64 = .max, max: Int) -> Int {
    let end = microseconds == .max ? Int64.max : now() + microseconds
    var count = 0
    while count < max, let body = next(until: end) {
      body()
      count += 1
    }
    if end != .max { state.withLock { $0.now = Swift.max($0.now, end) } }
    return count
  }

  /// Drops all scheduled jobs.
  package func clear() { state.withLock { $0.jobs.removeAll() } }

  package func end() { clear() }

  private func next(until end: Int64) -> JobQueue.Body? {
    state.withLock { state in
      guard let (time, body) = state.jobs.removeNext(dueAt: end) else { return nil }
      state.now = Swift.max(state.now, time)
      return body
    }
  }
}
