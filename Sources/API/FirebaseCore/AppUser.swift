// The user who is signed in to an app, for modules that keep data per user.
//
// FirebaseAuth sets the user. A database with a remote follows the user, because its outbox has one queue per
// user. While the user was never set, observers are not called: a database then keeps the user that the
// program chose with `changeUser(_:)`.

import ByteStore

package final class AppUser: Sendable {
  private struct State: Sendable {
    /// Nil until the user is set. Then the ID of the user, which is nil if no user is signed in.
    var id: String??
    var observers: [UInt64: @Sendable (String?) -> Void] = [:]
    var lastNumber: UInt64 = 0
  }

  private let state = Locked(State())

  package init() {}

  /// Sets the user; nil means that no user is signed in. Calls the observers if this is a change.
  package func set(_ id: String?) {
    state.withLock { state in
      guard state.id != .some(id) else { return }
      state.id = .some(id)
      for body in state.observers.values { body(id) }
    }
  }

  /// Calls `body` at once if the user was set, and then after each change, until the observation is released.
  /// The calls run under a lock, which keeps them in order. `body` may therefore only schedule work.
  package func observe(_ body: @escaping @Sendable (String?) -> Void) -> Observation {
    let number = state.withLock { state in
      state.lastNumber += 1
      state.observers[state.lastNumber] = body
      if let id = state.id { body(id) }
      return state.lastNumber
    }
    return Observation(self, number)
  }

  private func remove(_ number: UInt64) {
    // The closure is released outside the lock, together with everything that it retains.
    let removed = state.withLock { $0.observers.removeValue(forKey: number) }
    withExtendedLifetime(removed) {}
  }

  /// A registered observer. Its release removes the observer.
  package final class Observation: Sendable {
    private let user: AppUser
    private let number: UInt64

    fileprivate init(_ user: AppUser, _ number: UInt64) {
      self.user = user
      self.number = number
    }

    deinit { user.remove(number) }
  }
}
