// A serial queue for results that the user receives in the order of the calls.

import Dispatch

/// A serial queue that also runs async reads. A read occupies the queue until it suspends, and continues on
/// the queue, so its thread is none of Swift's task threads.
final class AnswerQueue: TaskExecutor {
  let queue: DispatchQueue
  /// All reads, from the call on.
  private let reads = DispatchGroup()

  init(label: String) { queue = DispatchQueue(label: label) }

  /// Announces a read. `startRead` follows.
  func enterRead() { reads.enter() }

  /// Starts an announced read after everything that is on the queue.
  func startRead(_ body: @escaping @Sendable () async -> Void) {
    Task(executorPreference: self) { [reads] in
      await body()
      reads.leave()
    }
  }

  /// Blocks until every announced read has completed.
  func waitForReads() { reads.wait() }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
