// What runs before a write, and may take its time.

private import FirebaseCore
import Foundation

/// A hook's `done`: the first call of it counts. If it is called before the hook returns, and on the same
/// thread, the write goes on there; else on the callback queue.
final class ResourceHook: @unchecked Sendable {
  // Unchecked: what varies is touched under the lock only, and `continuation` is used once, by whoever takes
  // it.
  private let lock = NSLock()
  private let queue: DispatchQueue
  private let thread = Thread.current
  private var hasReturned = false
  private var continuation: ((NSError?) -> Void)?

  /// Runs `hook`, and `continuation` once it is done.
  static func run(
    on queue: DispatchQueue, _ hook: (@escaping ResourceDoneHandler) -> Void,
    then continuation: @escaping (NSError?) -> Void
  ) {
    let state = ResourceHook(queue, continuation)
    hook { error in state.done(error) }
    state.lock.lock()
    state.hasReturned = true
    state.lock.unlock()
  }

  private init(_ queue: DispatchQueue, _ continuation: @escaping (NSError?) -> Void) {
    self.queue = queue
    self.continuation = continuation
  }

  private func done(_ error: NSError?) {
    lock.lock()
    let taken = continuation
    continuation = nil
    let isInside = !hasReturned && Thread.current === thread
    lock.unlock()
    guard let taken else { return }
    if isInside { return taken(error) }
    let handed = Transferred((taken, error))
    queue.async { handed.value.0(handed.value.1) }
  }
}
