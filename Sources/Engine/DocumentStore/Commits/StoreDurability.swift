// The durability levels of a commit.

/// The failures that an acknowledged commit survives, depending on its durability level.
public enum StoreDurability: Sendable {
  /// The commit is on stable storage and survives a power loss.
  case synced
  /// The commit survives the death of the process. A power loss may drop the commits of the last 100 ms,
  /// latest first.
  case buffered
}
