// The clock and the background timer for times to live.
//
// The clock starts at the wall-clock time of opening and advances with the monotonic clock. A jump of the
// wall clock takes effect only at the next open, so it cannot expire documents early.

import ByteStore
import Dispatch

struct TimeToLiveClock: Sendable {
  private let clock: any StoreClock
  private let wallAtOpen: Int64
  private let monotonicAtOpen: UInt64

  init(_ clock: any StoreClock) {
    self.clock = clock
    wallAtOpen = clock.wallMicroseconds()
    monotonicAtOpen = clock.monotonicNanoseconds()
  }

  /// Microseconds since 1970.
  var now: Int64 {
    let (now, overflow) = wallAtOpen.addingReportingOverflow(
      Int64(clamping: (clock.monotonicNanoseconds() &- monotonicAtOpen) / 1000))
    return overflow ? .max : now
  }

  /// How far the wall clock has jumped since the store was opened, in microseconds.
  var jump: Int64 { clock.wallMicroseconds().subtractingReportingOverflow(now).partialValue }
}

/// The result of sweeping one collection group.
public struct TimeToLiveReport: Sendable, Equatable {
  /// The number of expired documents that were removed.
  public internal(set) var removed = 0
  /// The number of documents that cannot be read and were therefore kept; `dugout check` lists them.
  public internal(set) var unreadable = 0
  /// The error that kept other documents from being removed.
  public internal(set) var failure: DocumentStoreError?
}

/// Calls a sweep periodically on its own queue, until the last reference to the sweeper is released.
final class TimeToLiveSweeper: @unchecked Sendable {
  // The timer is only cancelled, which is allowed from any thread.
  private let timer: any DispatchSourceTimer

  init(every seconds: Int, _ sweep: @escaping @Sendable () -> Void) {
    let queue = DispatchQueue(label: "dugout.timetolive", qos: .utility)
    timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .now() + .seconds(1), repeating: .seconds(seconds), leeway: .seconds(1))
    timer.setEventHandler(handler: sweep)
    timer.resume()
  }

  deinit { timer.cancel() }
}
