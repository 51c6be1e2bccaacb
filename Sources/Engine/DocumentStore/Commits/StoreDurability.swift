// When a commit counts as done.

/// What a commit survives once it is acknowledged.
public enum StoreDurability: Sendable {
  /// Everything: it is on stable storage.
  case synced
  /// The death of the process. A power loss may take the commits of the last 100 ms, the latest ones first.
  case buffered
}
