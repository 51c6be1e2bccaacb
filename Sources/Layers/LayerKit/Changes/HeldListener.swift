// A listener registration that is removed with its owner.

import ByteStore
package import FirebaseFirestore

/// Removes a registration once, either on request or when this object is freed.
package final class HeldListener: Sendable {
  private let listener: Locked<(any ListenerRegistration)?>

  package init(_ listener: (any ListenerRegistration)?) { self.listener = Locked(listener) }

  deinit { remove() }

  /// Removes the registration outside the lock, because the removal can free objects that call `remove` in
  /// turn.
  package func remove() {
    let listener = listener.withLock { listener in
      defer { listener = nil }
      return listener
    }
    listener?.remove()
  }
}
