// The disposer core: one listener registration, tied to a lifetime.

import ByteStore
package import FirebaseFirestore

/// Removes a registration once, either on request or when this object is freed.
package final class HeldListener: Sendable {
  private let listener: Locked<(any ListenerRegistration)?>

  package init(_ listener: (any ListenerRegistration)?) { self.listener = Locked(listener) }

  deinit { remove() }

  /// Removes the registration outside the lock, because the removal can free objects that call `remove`
  /// again.
  package func remove() {
    let listener = listener.withLock { listener in
      defer { listener = nil }
      return listener
    }
    listener?.remove()
  }
}
