// A hook that runs before a write and may complete later.

private import ByteStore
private import FirebaseCore
import Foundation

/// The `done` of one hook: only its first call counts.
///
/// If `done` is called on the hook's thread before the hook returns, the write continues there. Otherwise it
/// continues on the callback queue.
final class ResourceHook: Sendable {
  private struct State: @unchecked Sendable {
    // Unchecked, because of the closure. It is called once, by the call that takes it out of the state.
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
