// The clock and the random source of the stores in a world.

internal import ByteStore
internal import OfflineSync

/// A clock that shows the time of a world.
final class WorldClock: StoreClock {
  private let world: WorldScheduler
  /// The pauses of blocking code, in nanoseconds. They pass at once, and only on the monotonic clock.
  private let paused = Locked<UInt64>(0)

  init(_ world: WorldScheduler) { self.world = world }

  func wallMicroseconds() -> Int64 { world.now() }

  func monotonicNanoseconds() -> UInt64 {
    UInt64(world.now() - WorldScheduler.start) * 1000 + paused.withLock { $0 }
  }

  func pause(milliseconds: Int) { paused.withLock { $0 += UInt64(milliseconds) * 1_000_000 } }
}

/// A random source of its own for each store, so that background work of a store does not change what the
/// rest of the world draws.
final class WorldRandomSource: RandomSource {
  private let rng: Locked<SplitMix64>

  init(_ world: WorldScheduler) { rng = Locked(SplitMix64(seed: world.random())) }

  func randomID() -> RandomID { rng.withLock { RandomID(high: $0.next(), low: $0.next()) } }
}

extension Platform {
  /// Returns a platform with an empty disk.
  static func simulated(in world: WorldScheduler) -> Platform {
    Platform(fileSystem: MemoryFileSystem(), clock: WorldClock(world), random: WorldRandomSource(world))
  }
}
