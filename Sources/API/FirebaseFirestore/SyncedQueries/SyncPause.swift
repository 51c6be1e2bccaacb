// The reason why the sync of a database is paused.

/// The reason why a database takes nothing from its remote, although the remote could be reached.
///
/// A paused database keeps its listeners and its pending writes, and answers from the cache. It continues
/// without a call of the app when the reason is gone. Later versions add reasons, so give a `switch` a
/// `default`.
public enum SyncPause: String, Hashable, Sendable, Codable {
  /// The disk is full, so a change of the remote could not be stored. The database tries again after a
  /// second, and then less and less often. The pause ends when a change of the remote is stored.
  case diskFull
  /// The network is metered, and the database uses unmetered ones only. See `FirestoreSettings.networkUse`.
  case meteredNetwork
}
