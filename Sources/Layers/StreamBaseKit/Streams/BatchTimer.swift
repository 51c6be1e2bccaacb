// The timer that delays a batch.

private import FirebaseCore
package import Foundation

/// A timer that runs a closure after a delay, unless the timer is restarted or cancelled. Tests supply a
/// timer that they trigger themselves.
package protocol BatchTimer: AnyObject {
  /// Starts the timer. If it is already running, replaces its closure and its delay.
  func start(_ delay: TimeInterval, _ body: @escaping () -> Void)
  func cancel()
}

/// A timer on a dispatch queue. The thread that starts the timer needs no run loop.
final class QueueTimer: BatchTimer {
  /// The maximum total delay when the timer is restarted repeatedly, as a multiple of the delay.
  private static let delaysMax = 10.0

  private let queue: DispatchQueue
  private var started: DispatchWorkItem?
  private var deadline: DispatchTime?

  init(_ queue: DispatchQueue) { self.queue = queue }

  deinit { started?.cancel() }

  func start(_ delay: TimeInterval, _ body: @escaping () -> Void) {
    let latest = deadline ?? .now() + delay * Self.delaysMax
    started?.cancel()
    deadline = latest
    let call = Transferred { [weak self] in
      self?.cancel()
      body()
    }
    let work = DispatchWorkItem { call.value() }
    started = work
    queue.asyncAfter(deadline: min(.now() + delay, latest), execute: work)
  }

  func cancel() {
    started?.cancel()
    started = nil
    deadline = nil
  }
}
