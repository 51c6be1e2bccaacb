// Registrations of listeners, which remove them, and the listener for snapshots in sync.

private import FirebaseCore
public import Foundation

/// The result of `addSnapshotListener`, with which the app removes the listener.
public protocol ListenerRegistration: NSObjectProtocol, Sendable {
  /// Removes the listener. After this method returns, no callback starts, but a callback that is already
  /// running may finish. Any thread may call this method, and calling it again does nothing.
  ///
  /// If a callback is running on another thread, this method waits for it. The wait is limited to some
  /// milliseconds, because the callback may itself be waiting for the caller of this method. A call from
  /// inside the callback does not wait.
  func remove()
}

extension Listening: ListenerRegistration {}

extension Firestore {
  /// Calls `listener` on the callback queue: once after all snapshots that are already being delivered, and
  /// then after each round of snapshots. A round ends when all listeners that a commit affects have been
  /// called. If commits arrive faster than the listeners handle them, several rounds end together.
  @discardableResult
  public func addSnapshotsInSyncListener(_ listener: @escaping () -> Void) -> any ListenerRegistration {
    let callback = Callback<Void> { _ in listener() }
    return client().listenToSync(on: callbackQueue) { callback(()) }
  }
}
