// Registrations, which end the listening.

public import Foundation

/// The result of `addSnapshotListener`. It removes the listener.
public protocol ListenerRegistration: NSObjectProtocol, Sendable {
  /// Removes the listener. After this returns, no callback starts; one that runs may finish. Any thread may
  /// call it, and calling it again does nothing.
  ///
  /// If a callback runs in another thread, this waits for it, but only for some milliseconds because the
  /// callback may itself wait for the caller. Inside the callback, it does not wait.
  func remove()
}

extension Listening: ListenerRegistration {}
