// A transfer at one moment.

public import Foundation

/// What was known about a transfer when an event happened. Never changes.
open class StorageTaskSnapshot: NSObject, @unchecked Sendable {
  // Unchecked: metadata and progress were made for this snapshot alone.

  /// What is observed.
  public let task: StorageTask
  /// Of an upload: what it was begun with, and what the store says once it succeeded.
  public let metadata: StorageMetadata?
  /// Which object it is about.
  public let reference: StorageReference
  /// A total of -1 is not known yet.
  public let progress: Progress?
  /// Why it failed; nil if it has not.
  public let error: (any Error)?
  /// How it stands.
  public let status: StorageTaskStatus

  init(
    task: StorageTask, metadata: StorageMetadata?, reference: StorageReference, progress: Progress?,
    error: (any Error)?, status: StorageTaskStatus
  ) {
    self.task = task
    self.metadata = metadata
    self.reference = reference
    self.progress = progress
    self.error = error
    self.status = status
  }
}
