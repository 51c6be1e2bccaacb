// The end of listening.

import FirebaseCore
public import Foundation

/// What `addSnapshotListener` returns: the way to end it.
public protocol ListenerRegistration: NSObjectProtocol, Sendable {
  /// After this returns, no callback starts; one that runs may finish. Any thread may call it, and calling it
  /// again does nothing.
  func remove()
}

/// A listener on its way to the store, or there. It goes on until it is removed, whether anybody keeps the
/// registration or not.
final class Listening: NSObject, ListenerRegistration {
  private let state = Guarded(State())
  private let onRemoval: @Sendable (Listening) -> Void

  private struct State {
    var isRemoved = false
    var registration: (@Sendable () -> Void)?
    var onEnd: (@Sendable () -> Void)?
  }

  init(onRemoval: @escaping @Sendable (Listening) -> Void) { self.onRemoval = onRemoval }

  var isRemoved: Bool { state.withLock { $0.isRemoved } }

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
  }
}
