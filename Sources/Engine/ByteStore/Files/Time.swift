// The interfaces for time and randomness, and the system's implementations.

import Libc

package protocol StoreClock: Sendable {
  /// Microseconds since 1970 by the wall clock, which may jump in either direction.
  func wallMicroseconds() -> Int64
  /// Monotonic nanoseconds, for timeouts.
  func monotonicNanoseconds() -> UInt64
  /// Blocks the calling thread. No lock may be held.
  func pause(milliseconds: Int)
}

extension StoreClock {
  package func pause(milliseconds: Int) { usleep(UInt32(milliseconds) * 1000) }
}

package struct SystemClock: StoreClock {
  package init() {}

  package func wallMicroseconds() -> Int64 {
    let now = Self.read(CLOCK_REALTIME)
    return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
  }

  package func monotonicNanoseconds() -> UInt64 {
    let now = Self.read(CLOCK_MONOTONIC)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
  }

  private static func read(_ clock: clockid_t) -> timespec {
    var now = timespec()
    unsafe clock_gettime(clock, &now)
    return now
  }
}

package protocol RandomSource: Sendable {
  func randomID() -> RandomID
}

package struct SystemRandom: RandomSource {
  package init() {}

  package func randomID() -> RandomID {
    var system = SystemRandomNumberGenerator()
    return RandomID(high: system.next(), low: system.next())
  }
}
