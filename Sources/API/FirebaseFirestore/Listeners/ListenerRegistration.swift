// The end of listening.

import FirebaseCore
public import Foundation

/// What `addSnapshotListener` returns: the way to end it.
public protocol ListenerRegistration: NSObjectProtocol, Sendable {
  /// After this returns, no callback starts; one that runs may finish. Any thread may call it, and calling it
  /// again does nothing.
  ///
  /// While a callback runs in another thread, this waits for its end, though for some milliseconds only, since it may
  /// itself wait for the caller. In the callback it does not wait.
  func remove()
}

/// A listener on its way to the store, or there. It goes on until it is removed, whether anybody keeps the
/// registration or not.
final class Listening: NSObject, ListenerRegistration {
  private let state = Guarded(State())
  private let onRemoval: @Sendable (Listening) -> Void
  /// Calls of the user that have begun.
  private let calls = DispatchGroup()

  private struct State {
    var isRemoved = false
    /// The thread that is in a call, or about to be.
    var caller: ObjectIdentifier?
    var registration: (@Sendable () -> Void)?
    var onEnd: (@Sendable () -> Void)?
  }

  init(onRemoval: @escaping @Sendable (Listening) -> Void) { self.onRemoval = onRemoval }

  var isRemoved: Bool { state.withLock { $0.isRemoved } }

  /// Runs `body`, which is to do nothing but call the user, unless this was removed; false if it was. What takes its time
  /// is done before: from here on, whoever removes this waits.
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

  /// It was taken up; `registration` ends that.
  func attach(_ registration: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      if !state.isRemoved { state.registration = registration }
      return state.isRemoved
    }
    if isLate { registration() }
  }

  /// Calls `body` when this ends, by whomever; at once if it has.
  func atEnd(_ body: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      if !state.isRemoved { state.onEnd = body }
      return state.isRemoved
    }
    if isLate { body() }
  }

  func remove() {
    stop()
    onRemoval(self)
  }

  /// Without telling whoever keeps it.
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

  /// Whether a call in another thread has come to the user's code cannot be told from outside, but that it has ended.
  private func waitForHandler() {
    let caller = state.withLock { $0.caller }
    guard let caller, caller != ObjectIdentifier(Thread.current) else { return }
    _ = calls.wait(timeout: .now() + .milliseconds(10))
  }
}
