// Being told that all listeners have heard of the same state.

private import FirebaseCore
private import Foundation

extension Firestore {
  /// Tells `listener` on the callback queue: once for all that was told before that call, and then after each round of
  /// snapshots, when all listeners that a commit concerns have been told.
  @discardableResult
  public func addSnapshotsInSyncListener(_ listener: @escaping () -> Void) -> any ListenerRegistration {
    let callback = Callback<Void> { _ in listener() }
    return client().listenToSync(on: callbackQueue) { callback(()) }
  }
}
