// Runs the hook before a write. The hook may end later.

private import FirebaseCore
import Foundation

/// Handles a hook's `done`, of which the first call counts. If it is called on the same thread before the
/// hook returns, the write continues at once. Otherwise it continues on the callback queue.
final class ResourceHook: @unchecked Sendable {
  // Unchecked, because the lock protects all mutable state, and `continuation` is taken and called once.
  private let lock = NSLock()
  private let queue: DispatchQueue
  private let thread = Thread.current
  private var hasReturned = false
  private var continuation: ((NSError?) -> Void)?

  /// Runs `hook`, and calls `continuation` when the hook is done.
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
