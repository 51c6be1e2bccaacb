// A listener, which stays active until it is removed.

import ByteStore
import FirebaseCore
import Foundation

/// A listener that is registered with the store or will be registered soon. It stays active until it is
/// removed, even if the caller drops its reference to the listener.
package final class Listening: NSObject, Sendable {
  private let state = Locked(State())
  private let onRemoval: @Sendable (Listening) -> Void
  /// User callbacks in progress.
  private let calls = DispatchGroup()

  private struct State {
    var isRemoved = false
    /// The thread that is running a callback or is about to run one.
    var caller: ObjectIdentifier?
    var registration: (@Sendable () -> Void)?
    var onEnd: (@Sendable () -> Void)?
  }

  init(onRemoval: @escaping @Sendable (Listening) -> Void) { self.onRemoval = onRemoval }

  var isRemoved: Bool { state.withLock { $0.isRemoved } }

  /// Runs `body` unless the listener was removed, and returns whether `body` ran. `body` should only call the
  /// user's closure, because `remove` waits for `body`. Do long work before this call.
  @discardableResult
  func call(_ body: () -> Void) -> Bool {
    let begins = state.withLock { state in
      guard !state.isRemoved else { return false }
      state.caller = ObjectIdentifier(Thread.current)
      calls.enter()
      return true
    }
    guard begins else { return false }
    body()
    state.withLock { $0.caller = nil }
    calls.leave()
    return true
  }

  /// Calls `handler` with a result on `queue`, unless the listener is removed first. An error ends the
  /// listening after the call: the removal also ends loops over the results, and these loops must receive the
  /// error first.
  func deliver<Value: Sendable>(
    _ result: Result<Value, any Error>, on queue: DispatchQueue, to handler: @escaping Answer<Value>
  ) {
    queue.submit { [self] in
      guard call({ handler(result) }) else { return }
      if case .failure = result { remove() }
    }
  }

  /// Stores `registration`, a closure that removes the listener from the store. Calls the closure at once if
  /// the listener was already removed.
  func attach(_ registration: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      if !state.isRemoved { state.registration = registration }
      return state.isRemoved
    }
    if isLate { registration() }
  }

  /// Calls `body` when the listener is removed for any reason. Calls `body` at once if the listener was
  /// already removed.
  func whenRemoved(_ body: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      if !state.isRemoved { state.onEnd = body }
      return state.isRemoved
    }
    if isLate { body() }
  }

  package func remove() {
    stop()
    onRemoval(self)
  }

  /// Ends the listening without calling `onRemoval`.
  func stop() {
    let (registration, onEnd) = state.withLock { state in
      state.isRemoved = true
      defer {
        state.registration = nil
        state.onEnd = nil
      }
      return (state.registration, state.onEnd)
    }
    registration?()
    onEnd?()
    waitForHandler()
  }

  /// Waits for a callback on another thread to return, but not for long: `caller` only shows that the thread
  /// is in `call`, not whether it has reached the user's closure.
  private func waitForHandler() {
    let caller = state.withLock { $0.caller }
    guard let caller, caller != ObjectIdentifier(Thread.current) else { return }
    _ = calls.wait(timeout: .now() + .milliseconds(10))
  }
}
