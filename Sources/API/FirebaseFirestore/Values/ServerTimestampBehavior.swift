// The choice of a value for timestamps that the server has not set yet.

/// The value that a read returns for a timestamp that the server has not set yet. Without a remote, every
/// timestamp is set at the commit.
public enum ServerTimestampBehavior: Int, Sendable {
  /// Returns null.
  case none = 0
  /// Returns an estimate from the local clock.
  case estimate = 1
  /// Returns the field's previous value.
  case previous = 2
}
