// Time for transactions: their age, and the timer that ends forgotten ones.

internal import Dispatch

/// A clock and a timer.
package struct ServiceClock: Sendable {
  /// Monotonic nanoseconds.
  package var now: @Sendable () -> UInt64
  /// Runs a block after this number of nanoseconds.
  package var after: @Sendable (_ nanoseconds: UInt64, _ block: @escaping @Sendable () -> Void) -> Void

  package init(
    now: @escaping @Sendable () -> UInt64,
    after: @escaping @Sendable (UInt64, @escaping @Sendable () -> Void) -> Void
  ) {
    self.now = now
    self.after = after
  }

  package static let system = ServiceClock(
    now: { DispatchTime.now().uptimeNanoseconds },
    after: { nanoseconds, block in
      let delay = DispatchTimeInterval.nanoseconds(Int(clamping: nanoseconds))
      DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay, execute: block)
    })
}
