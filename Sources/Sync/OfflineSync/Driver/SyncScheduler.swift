// The execution of tasks and timers: on a dispatch queue with the system clock, or under a test's control.

package import Dispatch
import Libc

/// A serial executor with timers.
package protocol SyncScheduler: Sendable {
  /// Microseconds since 1970.
  func now() -> Int64
  /// Runs the body after all bodies that were submitted before.
  func run(_ body: @escaping @Sendable () -> Void)
  func run(after microseconds: Int64, _ body: @escaping @Sendable () -> Void)
  /// Whether the caller runs on this scheduler. If so, waiting for another body would deadlock.
  var isCurrent: Bool { get }
  /// The simulation that this scheduler is a part of; nil outside a simulation.
  var simulation: (any Simulation)? { get }
}

package struct QueueScheduler: SyncScheduler {
  package let queue: DispatchQueue
  private let key = DispatchSpecificKey<Bool>()

  package init(label: String) {
    queue = DispatchQueue(label: label)
    queue.setSpecific(key: key, value: true)
  }

  package var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

  package func now() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
  }

  package func run(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

  package func run(after microseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    queue.asyncAfter(deadline: .now() + .microseconds(Int(microseconds)), execute: body)
  }
}
