// The simulated platform: a clock that only moves when it is set, and a seeded random source.

package import ByteStore

package final class SimulatedClock: StoreClock {
  private struct Time {
    var wallMicroseconds: Int64
    var monotonicNanoseconds: UInt64
  }

  private let time: Locked<Time>

  package init(wallMicroseconds: Int64 = 1_700_000_000_000_000) {
    time = Locked(Time(wallMicroseconds: wallMicroseconds, monotonicNanoseconds: 0))
  }

  package func wallMicroseconds() -> Int64 { time.withLock { $0.wallMicroseconds } }
  package func monotonicNanoseconds() -> UInt64 { time.withLock { $0.monotonicNanoseconds } }

  package func pause(milliseconds: Int) { advance(nanoseconds: UInt64(milliseconds) * 1_000_000) }

  package func advance(nanoseconds: UInt64) {
    time.withLock {
      $0.monotonicNanoseconds += nanoseconds
      $0.wallMicroseconds += Int64(nanoseconds / 1000)
    }
  }

  /// Sets the wall clock in either direction; the monotonic clock is unaffected (F5).
  package func setWall(microseconds: Int64) { time.withLock { $0.wallMicroseconds = microseconds } }
}

package final class SimulatedRandomSource: RandomSource {
  private let random: Locked<SeededRandom>

  package init(seed: UInt64) { random = Locked(SeededRandom(seed: seed)) }

  package func randomID() -> RandomID {
    random.withLock { RandomID(high: $0.next(), low: $0.next()) }
  }
}

extension SimulatedDisk {
  /// Returns a platform with this disk, a clock and a random source derived from `seed`.
  package func platform(seed: UInt64) -> Platform {
    Platform(fileSystem: self, clock: SimulatedClock(), random: SimulatedRandomSource(seed: seed))
  }
}
