// What observers of a transfer are told.

/// Where a transfer is, and which events an observer wants.
public enum StorageTaskStatus: Int, Sendable, CaseIterable {
  case unknown
  case resume
  case progress
  case pause
  case success
  case failure
}
