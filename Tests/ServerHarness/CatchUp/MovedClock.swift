// A clock that is ahead of the machine's.

#if Server
import ByteStore

/// Wall time runs as on the machine, and can be moved forward.
final class MovedClock: StoreClock {
  private static let day: Int64 = 86_400 * 1_000_000

  private let system = SystemClock()
  private let days: Locked<Int>

  init(days: Int) { self.days = Locked(days) }

  func move(toDay day: Int) { days.withLock { $0 = day } }
  func wallMicroseconds() -> Int64 {
    system.wallMicroseconds() + Int64(days.withLock { $0 }) * Self.day
  }
  func monotonicNanoseconds() -> UInt64 { system.monotonicNanoseconds() }
}
#endif
