// The treatment of timestamps that the server has not set yet.

/// The value to return for a timestamp that the server has not set yet. Without a remote, that never
/// happens.
public enum ServerTimestampBehavior: Int, Sendable {
  /// Returns null.
  case none = 0
  /// Returns an estimate from the local clock.
  case estimate = 1
  /// Returns the field's previous value.
  case previous = 2
}
