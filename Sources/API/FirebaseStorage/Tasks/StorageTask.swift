// The two base classes of transfers in the API. The second one notifies observers.

public import Foundation

/// A transfer that can return a snapshot of its state.
open class StorageTask: NSObject, @unchecked Sendable {
  // The conformance is unchecked only because the class is open. The mutable state is in `Transfer`, which
  // protects it with a lock.

  let transfer: Transfer
  let reference: StorageReference

  init(_ reference: StorageReference, _ transfer: Transfer) {
    self.reference = reference
    self.transfer = transfer
  }

  /// The current state of the transfer.
  public var snapshot: StorageTaskSnapshot { transfer.snapshot(of: self) }
}

/// A transfer that notifies observers.
///
/// Handlers run on the bucket's callback queue. When the transfer has succeeded or failed, all handlers are
/// removed.
open class StorageObservableTask: StorageTask, @unchecked Sendable {
  /// Registers `handler`, which is called on every event of this kind. Also calls it once immediately if the
  /// transfer is already in a matching state. Returns a handle for `removeObserver(withHandle:)`. Traps for
  /// `.unknown`.
  @discardableResult
  open func observe(
    _ status: StorageTaskStatus, handler: @escaping (StorageTaskSnapshot) -> Void
  ) -> String {
    if status == .unknown {
      ProgrammerError.trap(
        "Invalid observer status requested, use one of: Pause, Resume, Progress, Complete, or Failure")
    }
    return transfer.observe(status, of: self, handler)
  }

  /// Removes the handler. Does nothing if the handle is not registered.
  open func removeObserver(withHandle handle: String) { transfer.removeObservers { $0 == handle } }

  /// Removes all handlers for this status.
  open func removeAllObservers(for status: StorageTaskStatus) { transfer.removeObservers(of: status) }

  /// Removes all handlers.
  open func removeAllObservers() { transfer.removeObservers { _ in true } }
}

/// An upload task.
open class StorageUploadTask: StorageObservableTask, StorageTaskManagement, @unchecked Sendable {
  /// Does nothing, because an upload is already started by the call that creates it.
  open func enqueue() { transfer.handle(.enqueue) }

  /// Pauses the upload immediately. Transferred bytes stay staged, even after a restart of the process.
  open func pause() { transfer.handle(.pause) }

  /// Resumes the upload after a pause.
  open func resume() { transfer.handle(.resume) }

  /// Cancels the upload with `StorageError.cancelled`, and removes its staged parts. Does nothing if all
  /// bytes are transferred and the object is being created.
  open func cancel() { transfer.handle(.cancel) }
}

/// A download task.
open class StorageDownloadTask: StorageObservableTask, StorageTaskManagement, @unchecked Sendable {
  /// Does nothing, because a download is already started by the call that creates it.
  open func enqueue() { transfer.handle(.enqueue) }

  /// Requests a pause of the download. Observers are notified when the download has stopped.
  open func pause() { transfer.handle(.pause) }

  /// Resumes the download after a pause. If the object's content has changed during the pause, the download
  /// starts again with the new content.
  open func resume() { transfer.handle(.resume) }

  /// Cancels the download with `StorageError.cancelled`, and removes its partial data.
  open func cancel() { transfer.handle(.cancel) }
}
