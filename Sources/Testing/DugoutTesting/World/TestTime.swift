// The time of a world.

public import Foundation

/// The time of a world. It passes only while everything in the world waits.
public struct TestTime: Sendable {
  let world: WorldScheduler

  /// The present time. Every world starts at 2024-01-01, 00:00 UTC.
  public var now: Date { Date(timeIntervalSince1970: Double(world.now()) / 1e6) }

  /// The time since the start of the world.
  public var elapsed: Duration { .microseconds(world.now() - WorldScheduler.start) }

  /// Lets this time pass. Timers, retries and messages that are due meanwhile happen on the way.
  public func advance(by duration: Duration) async throws { try await clock.sleep(for: duration) }

  /// The time as a clock, for code of the app that takes one.
  public var clock: TestClock { TestClock(world: world) }
}

/// A clock that shows the time of a world. Sleeping takes no real time.
public struct TestClock: Clock {
  let world: WorldScheduler

  /// A point in the time of a world.
  public struct Instant: InstantProtocol {
    let microseconds: Int64

    public func advanced(by duration: Duration) -> Instant {
      Instant(microseconds: microseconds + duration.microseconds)
    }

    public func duration(to other: Instant) -> Duration { .microseconds(other.microseconds - microseconds) }

    public static func < (left: Instant, right: Instant) -> Bool { left.microseconds < right.microseconds }
  }

  public var now: Instant { Instant(microseconds: world.now()) }

  public var minimumResolution: Duration { .microseconds(1) }

  /// Suspends the task until the deadline. Throws `CancellationError` if the task is cancelled or the world
  /// ends before.
  public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let sleep = Sleep(world)
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { sleep.begin($0, until: deadline.microseconds) }
    } onCancel: {
      sleep.end(.failure(CancellationError()))
    }
  }
}
