// Who transfers, piece by piece. All calls come from the transfer's queue, one at a time.

protocol TransferWorker: AnyObject, Sendable {
  var pausesAtOnce: Bool { get }
  /// Of `total`, in bytes.
  var completed: Int64 { get }
  /// -1 as long as it is not known.
  var total: Int64 { get }

  /// Called at the start of each run.
  func prepare() throws(StorageError)
  /// Transfers a piece; false if none was left.
  func advance() throws(StorageError) -> Bool
  /// The end; for an upload, the object's metadata.
  func finish() throws(StorageError) -> StorageMetadata?
  /// There is a pause: what was transferred has to survive it.
  func stop() throws(StorageError)
  /// Leaves nothing.
  func discard()
  /// Leaves what is staged.
  func leave()
}
