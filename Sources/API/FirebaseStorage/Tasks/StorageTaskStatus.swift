// What observers of a transfer are told.

/// Where a transfer is, and which events an observer wants.
public enum StorageTaskStatus: Int, Sendable, CaseIterable {
  /// Nothing has happened yet.
  case unknown
  /// It goes on.
  case resume
  /// It came further.
  case progress
  /// It is paused.
  case pause
  /// It is done.
  case success
  /// It failed, or was given up.
  case failure
}
