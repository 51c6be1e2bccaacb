// When changes of objects complete.

/// The condition under which a change of an object completes if there is a remote.
public enum StorageAcknowledgement: Hashable, Sendable {
  /// The change completes when the remote has accepted or rejected it. Without a connection, this may never
  /// happen.
  case server
  /// The change completes when it is stored locally and queued. It stays in the queue until the remote has
  /// accepted or rejected it.
  case local
}
