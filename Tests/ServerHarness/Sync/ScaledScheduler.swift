// A scheduler whose time passes faster than that of the machine, so that the waits of a client are short.

#if Server
import ByteStore
import Dispatch
import Harness
import OfflineSync

/// Runs jobs while a test plays it, on the thread of the test, which also serves the sockets of a loop.
final class ScaledScheduler: PlayedScheduler {
  private static let sliceNanoseconds: UInt64 = 1_000_000

  private let scale: Double
  private let start = DispatchTime.now().uptimeNanoseconds
  private let startMicroseconds: Int64
  /// Nil after the end. Events of the network that come later would keep what they belong to.
  private let jobs = Locked<JobQueue?>(JobQueue())
  /// Serves the sockets of the test for this time.
  private let serve: @Sendable (_ seconds: Double) -> Void

  /// With a scale of 50, one second of the machine is 50 seconds here.
  init(scale: Double, at time: Int64, serve: @escaping @Sendable (_ seconds: Double) -> Void) {
    self.scale = scale
    startMicroseconds = time
    self.serve = serve
  }

  // Nothing may wait for a job, because jobs only run while the test plays.
  var isCurrent: Bool { true }
  var simulation: (any Simulation)? { nil }
  var jobCount: Int { jobs.withLock { $0?.addedCount ?? 0 } }

  func now() -> Int64 {
    let passed = DispatchTime.now().uptimeNanoseconds - start
    return startMicroseconds + Int64(Double(passed) / 1000 * scale)
  }

  func run(_ body: @escaping @Sendable () -> Void) {
    // Jobs without a delay are older than those of any time, so they keep their order.
    jobs.withLock { $0?.add(at: 0, body) }
  }

  func run(after microseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    let (time, isTooLate) = now().addingReportingOverflow(microseconds)
    jobs.withLock { $0?.add(at: isTooLate ? .max : time, body) }
  }

  func play(for microseconds: Int64) { play(for: microseconds) { false } }

  /// Plays until the condition holds, for this time at most.
  func play(for microseconds: Int64, until isDone: () -> Bool) {
    let end = now() + microseconds
    while true {
      runDue()
      if isDone() { return }
      let left = Double(end - now()) / scale / 1e6
      guard left > 0 else { return }
      serve(min(left, Double(Self.sliceNanoseconds) / 1e9))
    }
  }

  private func runDue() {
    while let (_, body) = jobs.withLock({ $0?.removeNext(dueAt: now()) }) { body() }
  }

  func end() {
    let dropped = jobs.withLock { $0.take() }
    // A job may be the last one that refers to a connection, whose end adds another job.
    withExtendedLifetime(dropped) {}
  }
}
#endif
