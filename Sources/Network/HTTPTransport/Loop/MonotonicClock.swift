// Time for time-outs.

internal import Libc

/// Monotonic nanoseconds.
package struct MonotonicClock: Sendable {
  package let now: @Sendable () -> UInt64
  /// For differences below a millisecond. It need not agree with `now`.
  package let exact: @Sendable () -> UInt64

  package init(
    _ now: @escaping @Sendable () -> UInt64, exact: (@Sendable () -> UInt64)? = nil
  ) {
    self.now = now
    self.exact = exact ?? now
  }

  /// The clock of the system. On Linux `now` is exact to a few milliseconds only, because every request looks
  /// at it several times.
  package static let system: MonotonicClock = {
    #if os(Linux)
    MonotonicClock({ time(of: CLOCK_MONOTONIC_COARSE) }, exact: { time(of: CLOCK_MONOTONIC) })
    #else
    MonotonicClock { time(of: CLOCK_MONOTONIC) }
    #endif
  }()

  private static func time(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
