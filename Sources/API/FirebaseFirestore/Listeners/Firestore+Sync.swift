// Notifies the app when all listeners have received snapshots of the same commits.

private import FirebaseCore
private import Foundation

extension Firestore {
  /// Calls `listener` on the callback queue: once after all snapshots that are already being delivered, and
  /// then after each round of snapshots. A round ends when all listeners that a commit affects have been
  /// called.
  @discardableResult
  public func addSnapshotsInSyncListener(_ listener: @escaping () -> Void) -> any ListenerRegistration {
    let callback = Callback<Void> { _ in listener() }
    return client().listenToSync(on: callbackQueue) { callback(()) }
  }
}
