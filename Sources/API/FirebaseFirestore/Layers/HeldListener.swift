// The end of listening, for the layers above.

private import FirebaseCore

/// A registration that is removed when asked, or when this is freed; once.
package final class HeldListener: Sendable {
  private let listener: Guarded<(any ListenerRegistration)?>

  package init(_ listener: (any ListenerRegistration)?) { self.listener = Guarded(listener) }

  deinit { remove() }

  /// Outside the lock: that may free objects which remove something, this even.
  package func remove() {
    let listener = listener.withLock { listener in
      defer { listener = nil }
      return listener
    }
    listener?.remove()
  }
}
