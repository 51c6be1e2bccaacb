// Threads for the tasks of a server within a test.

#if Server
import Dispatch

/// Runs tasks on threads of its own, because tests may hold all threads of Swift's tasks for long.
final class ServerThreads: TaskExecutor {
  private let queue = DispatchQueue(label: "dugout.test.server", attributes: .concurrent)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
#endif
