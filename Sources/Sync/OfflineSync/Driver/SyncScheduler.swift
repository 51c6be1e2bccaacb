// When things happen: on a queue and by real clocks, or as a test has it.

package import Dispatch

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// One thing after the other, now or later.
package protocol SyncScheduler: Sendable {
  /// Microseconds since 1970.
  func now() -> Int64
  /// After what was given before.
  func run(_ body: @escaping @Sendable () -> Void)
  func run(after microseconds: Int64, _ body: @escaping @Sendable () -> Void)
  /// Whoever asks is one of those things: to wait for another one would last for ever.
  var isCurrent: Bool { get }
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
