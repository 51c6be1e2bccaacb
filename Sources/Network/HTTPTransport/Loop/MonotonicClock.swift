// Time for time-outs.

internal import Libc

/// Monotonic nanoseconds.
package struct MonotonicClock: Sendable {
  package let now: @Sendable () -> UInt64

  package init(_ now: @escaping @Sendable () -> UInt64) { self.now = now }

  /// The clock of the system. On Linux it is exact to a few milliseconds only, because every request looks at
  /// it several times.
  package static let system = MonotonicClock {
    var time = timespec()
    #if os(Linux)
    unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    #else
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    #endif
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
