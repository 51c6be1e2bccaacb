// A serial queue for results that the user receives in the order of the calls.

import Dispatch
import FirebaseCore

/// A serial queue that also runs async reads. A read occupies the queue until it suspends, and later resumes
/// on the queue. It therefore never runs on a thread of Swift's concurrency pool.
final class AnswerQueue: TaskExecutor {
  let queue: DispatchQueue
  /// The reads that have been announced and have not completed.
  private let reads = DispatchGroup()

  init(_ queue: DispatchQueue) { self.queue = queue }

  /// Announces a read. The caller must call `startRead` afterwards.
  func enterRead() { reads.enter() }

  /// Starts an announced read after all work that is already on the queue.
  func startRead(_ body: @escaping @Sendable () async -> Void) {
    Task(executorPreference: self) { [reads] in
      await body()
      reads.leave()
    }
  }

  /// Blocks until every announced read has completed.
  func waitForReads() { reads.wait() }

  /// Whether every announced read has completed.
  var hasNoReads: Bool { reads.wait(timeout: .now()) == .success }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.submit { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
