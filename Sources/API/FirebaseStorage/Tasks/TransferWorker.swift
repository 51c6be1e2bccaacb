// A worker that transfers bytes piece by piece.
//
// All calls are made on the transfer's queue, one at a time.

/// The result of one step of a worker.
enum TransferStep {
  /// A piece was transferred; there may be more.
  case more
  /// Nothing was transferred, because all bytes are already transferred.
  case none
  /// Nothing was transferred, because the worker waits for the remote's response.
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
  func whenChanged(_ wake: @escaping @Sendable () -> Void)
  /// Completes the transfer. Returns the object's metadata for an upload.
  func finish() throws(StorageError) -> StorageMetadata?
  /// Suspends the request to the remote for a pause. After that, the transfer does not wait for the request.
  func hold()
  /// Starts a pause. Makes the transferred bytes durable and closes all files. The next call of `prepare`
  /// ends the pause.
  func stop() throws(StorageError)
  /// Removes all transferred bytes.
  func discard()
  /// Cleans up after a failure, but keeps a change that is still queued for the remote. If the transfer was
  /// cancelled at the same time, `discard` is called as well.
  func abort()
  /// Stops the worker and keeps the staged parts.
  func leave()
}

extension TransferWorker {
  func whenChanged(_ wake: @escaping @Sendable () -> Void) { wake() }
  func hold() {}
  func abort() { discard() }
}
