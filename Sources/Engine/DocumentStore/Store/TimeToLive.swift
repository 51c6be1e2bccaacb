// When documents disappear by themselves.
//
// The time is that of the wall clock when the store was opened, and goes on with the clock that never jumps. A jump
// of the wall clock is adopted at the next opening: until then it makes nothing disappear early.

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

  /// How far the wall clock has jumped since the store was opened.
  var jump: Int64 { clock.wallMicroseconds().subtractingReportingOverflow(now).partialValue }
}

/// What a look at the documents of one collection group met.
public struct TimeToLiveReport: Sendable, Equatable {
  /// Documents whose time was over.
  public internal(set) var removed = 0
  /// Documents that cannot be read, and stay: `dugout check` tells of them.
  public internal(set) var unreadable = 0
  /// What kept it from removing the others.
  public internal(set) var failure: DocumentStoreError?
}

/// Sweeps now and then, on a queue of its own, while it is held.
final class TimeToLiveSweeper: @unchecked Sendable {
  // The timer may be cancelled from any thread, and nothing else is done with it.
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
