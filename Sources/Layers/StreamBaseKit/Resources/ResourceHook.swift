// A hook that runs before a write and may complete later.

private import ByteStore
private import FirebaseCore
import Foundation

/// The completion of one hook. Only the first call of `done` has an effect.
///
/// If `done` is called on the hook's thread before the hook returns, the write continues on this thread at
/// once. Otherwise the write continues on the callback queue.
final class ResourceHook: Sendable {
  private struct State: @unchecked Sendable {
    // Unchecked, because the closure is not `Sendable`. The first call of `done` removes the closure from the
    // state and calls it, so the closure is called only once.
    var hasReturned = false
    var continuation: ((NSError?) -> Void)?
  }

  private let queue: DispatchQueue
  private let thread = ObjectIdentifier(Thread.current)
  private let state: Locked<State>

  /// Runs `hook`, and calls `continuation` when the hook is done.
  static func run(
    on queue: DispatchQueue, _ hook: (@escaping ResourceDoneHandler) -> Void,
    then continuation: @escaping (NSError?) -> Void
  ) {
    let run = ResourceHook(queue, continuation)
    hook { error in run.done(error) }
    run.state.withLock { $0.hasReturned = true }
  }

  private init(_ queue: DispatchQueue, _ continuation: @escaping (NSError?) -> Void) {
    self.queue = queue
    state = Locked(State(continuation: continuation))
  }

  private func done(_ error: NSError?) {
    let (taken, isInside) = state.withLock { state in
      (state.continuation.take(), !state.hasReturned && ObjectIdentifier(Thread.current) == thread)
    }
    guard let taken else { return }
    if isInside { return taken(error) }
    let handed = Transferred((taken, error))
    queue.async { handed.value.0(handed.value.1) }
  }
}
