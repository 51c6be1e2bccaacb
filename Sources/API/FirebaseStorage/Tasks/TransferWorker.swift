// The worker of a transfer, which transfers piece by piece.
//
// All calls come from the transfer's queue, one at a time.

/// The result of one step of a worker.
enum TransferStep {
  /// Transferred a piece; there may be more.
  case more
  /// Transferred nothing, because everything is transferred.
  case none
  /// Transferred nothing, because the remote has to answer first.
  case waiting
}

protocol TransferWorker: AnyObject, Sendable {
  var pausesAtOnce: Bool { get }
  /// The number of transferred bytes.
  var completed: Int64 { get }
  /// The total number of bytes; -1 while it is unknown.
  var total: Int64 { get }

  /// Prepares for a run. Called at the start of each run.
  func prepare() throws(StorageError)
  /// Transfers a piece.
  func advance() throws(StorageError) -> TransferStep
  /// Calls `wake` on any queue when a worker that returned `waiting` can continue.
  func whenNew(_ wake: @escaping @Sendable () -> Void)
  /// Completes the transfer. Returns the object's metadata for an upload.
  func finish() throws(StorageError) -> StorageMetadata?
  /// Suspends the request to the remote for a pause, so that the transfer does not wait for it.
  func hold()
  /// Starts a pause. Makes the transferred bytes durable and closes all files. `prepare` ends the pause.
  func stop() throws(StorageError)
  /// Removes everything that was transferred.
  func discard()
  /// Cleans up after a failure, but keeps a change that still waits for the remote. If the transfer was
  /// cancelled at the same time, `discard` is called as well.
  func giveUp()
  /// Stops and keeps staged parts.
  func leave()
}

extension TransferWorker {
  func whenNew(_ wake: @escaping @Sendable () -> Void) { wake() }
  func hold() {}
  func giveUp() { discard() }
}
