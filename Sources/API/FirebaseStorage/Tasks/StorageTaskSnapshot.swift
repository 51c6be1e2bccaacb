// The state of a transfer at one point in time.

public import Foundation

/// The immutable state of a transfer at the time of an event.
open class StorageTaskSnapshot: NSObject, @unchecked Sendable {
  //  The unchecked conformance is safe, because each snapshot has its own copies of the metadata and the
  //  progress.

  /// The transfer.
  public let task: StorageTask
  /// The metadata of an upload. Until the upload succeeds, this is the metadata that the caller passed.
  /// Afterwards it is the metadata of the stored object.
  public let metadata: StorageMetadata?
  /// The object that is transferred.
  public let reference: StorageReference
  /// The progress in bytes. The total is -1 as long as it is unknown.
  public let progress: Progress?
  /// The reason for a failure; nil if the transfer has not failed.
  public let error: (any Error)?
  /// The status of the transfer.
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
