// The listeners of a client, which all end with it.

import ByteStore
import FirebaseCore

/// Any thread may use it.
final class ListenerRegistry: Sendable {
  private struct State {
    /// Set when listeners are no longer notified and no new one may be registered.
    var isSilent = false
    var listeners: [ObjectIdentifier: Listening] = [:]
  }

  private let state = Locked(State())

  /// Creates a listener that stays registered until it is removed.
  func add(onRemoval: @escaping @Sendable (Listening) -> Void = { _ in }) -> Listening {
    let listening = Listening { [weak self] in
      onRemoval($0)
      self?.remove($0)
    }
    add(listening)
    return listening
  }

  func add(_ listening: Listening) {
    let isLate = state.withLock { state in
      if !state.isSilent { state.listeners[ObjectIdentifier(listening)] = listening }
      return state.isSilent
    }
    // Stopped here, because `silence` has already run and would miss it.
    if isLate { listening.stop() }
  }

  func contains(_ listening: Listening) -> Bool {
    state.withLock { $0.listeners[ObjectIdentifier(listening)] != nil }
  }

  func remove(_ listening: Listening) {
    let removed = state.withLock { $0.listeners.removeValue(forKey: ObjectIdentifier(listening)) }
    // Released outside the lock, as in `silence`.
    withExtendedLifetime(removed) {}
  }

  /// Stops notifying all listeners.
  func silence() {
    // Released outside the lock: a closure may hold the last reference to another listener, whose removal
    // takes the lock.
    let removed = state.withLock { state in
      defer {
        state.isSilent = true
        state.listeners = [:]
      }
      return state.listeners
    }
    for listener in removed.values { listener.stop() }
    withExtendedLifetime(removed) {}
  }
}
