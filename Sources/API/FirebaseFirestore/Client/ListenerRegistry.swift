// The listeners of a client. All of them end when the client ends.

import ByteStore
import FirebaseCore

/// A thread-safe set of the client's listeners.
final class ListenerRegistry: Sendable {
  private struct State {
    /// Whether listeners are no longer notified and new listeners can no longer be registered.
    var isStopped = false
    var listeners: [ObjectIdentifier: Listening] = [:]
  }

  private let state = Locked(State())

  /// Creates a listener that stays registered until it is removed.
  func add(onRemoval: @escaping @Sendable (Listening) -> Void = { _ in }) -> Listening {
    let listening = Listening { [weak self] in
      // In this order: a thread that registers the listener elsewhere then finds it gone here, or `onRemoval`
      // finds that registration.
      self?.remove($0)
      onRemoval($0)
    }
    add(listening)
    return listening
  }

  func add(_ listening: Listening) {
    let isLate = state.withLock { state in
      if !state.isStopped { state.listeners[ObjectIdentifier(listening)] = listening }
      return state.isStopped
    }
    // The listener is stopped here, because `stopListeners` has already run and cannot stop it.
    if isLate { listening.stop() }
  }

  var count: Int { state.withLock { $0.listeners.count } }

  func contains(_ listening: Listening) -> Bool {
    state.withLock { $0.listeners[ObjectIdentifier(listening)] != nil }
  }

  func remove(_ listening: Listening) {
    let removed = state.withLock { $0.listeners.removeValue(forKey: ObjectIdentifier(listening)) }
    // The listener is released outside the lock, as in `stopListeners`.
    withExtendedLifetime(removed) {}
  }

  /// Stops notifying all listeners.
  func stopListeners() {
    // The listeners are released outside the lock. A closure may hold the last reference to another listener,
    // and the removal of that listener takes the lock.
    let removed = state.withLock { state in
      defer {
        state.isStopped = true
        state.listeners = [:]
      }
      return state.listeners
    }
    for listener in removed.values { listener.stop() }
    withExtendedLifetime(removed) {}
  }
}
