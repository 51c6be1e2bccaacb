// The wait before a batch.

private import FirebaseCore
package import Foundation

/// Runs something after a while, unless it is put off or called off. Tests bring one that they fire.
package protocol BatchTimer: AnyObject {
  /// Takes the place of what was started before.
  func start(_ delay: TimeInterval, _ body: @escaping () -> Void)
  func cancel()
}

/// On a queue, whatever thread started it.
final class QueueTimer: BatchTimer {
  /// A delay that is put off again and again ends after so many times its length.
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
    let call = Handed { [weak self] in
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
