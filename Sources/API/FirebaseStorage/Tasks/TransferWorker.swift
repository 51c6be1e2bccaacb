// Who transfers, piece by piece. All calls come from the transfer's queue, one at a time.

/// What a worker has done.
enum TransferStep {
  /// A piece; there may be more.
  case more
  /// Nothing, as all is transferred.
  case none
  /// Nothing, as the remote has to do something first.
  case waiting
}

protocol TransferWorker: AnyObject, Sendable {
  var pausesAtOnce: Bool { get }
  /// Of `total`, in bytes.
  var completed: Int64 { get }
  /// -1 as long as it is not known.
  var total: Int64 { get }

  /// Called at the start of each run.
  func prepare() throws(StorageError)
  /// Transfers a piece.
  func advance() throws(StorageError) -> TransferStep
  /// After `waiting`: has `wake` called, on any queue, once there is something new.
  func whenNew(_ wake: @escaping @Sendable () -> Void)
  /// The end; for an upload, the object's metadata.
  func finish() throws(StorageError) -> StorageMetadata?
  /// A pause begins: nothing is to be waited for.
  func hold()
  /// There is a pause: what was transferred has to survive it, and no file stays open. `prepare` ends it.
  func stop() throws(StorageError)
  /// Leaves nothing.
  func discard()
  /// It has failed: leaves nothing but what goes on waiting for the remote. If it was cancelled at the same time, `discard`
  /// comes as well.
  func giveUp()
  /// Leaves what is staged.
  func leave()
}

extension TransferWorker {
  func whenNew(_ wake: @escaping @Sendable () -> Void) { wake() }
  func hold() {}
  func giveUp() { discard() }
}
