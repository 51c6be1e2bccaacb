// The states of a transfer. They are also the kinds of events for observers.

/// The state of a transfer, and the kind of events that an observer receives.
public enum StorageTaskStatus: Int, Sendable, CaseIterable {
  /// The transfer has not started.
  case unknown
  /// The transfer runs.
  case resume
  /// The transfer has made progress.
  case progress
  /// The transfer is paused.
  case pause
  /// The transfer has succeeded.
  case success
  /// The transfer has failed or was cancelled.
  case failure
}
