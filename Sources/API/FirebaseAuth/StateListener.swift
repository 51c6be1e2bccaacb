// A registered listener, which is also the handle that the app receives.

import ByteStore
import FirebaseCore
import Foundation

final class StateListener: NSObject, Sendable {
  /// Nil after the removal, so that the handle does not keep the objects of the closure alive.
  private let callback: Locked<Callback<(Auth, User?)>?>

  init(_ body: @escaping (Auth, User?) -> Void) {
    callback = Locked(Callback { body($0.0, $0.1) })
  }

  /// Calls the closure, unless the listener was removed. Called on the callback queue.
  func call(_ auth: Auth, _ user: User?) { callback.withLock { $0 }?((auth, user)) }

  func remove() {
    let removed = callback.withLock { callback in
      defer { callback = nil }
      return callback
    }
    // The closure is released outside the lock.
    withExtendedLifetime(removed) {}
  }
}
