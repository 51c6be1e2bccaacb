// The transfers of the API: one that can be looked at, and one that can be observed.

public import Foundation

/// A transfer.
open class StorageTask: NSObject, @unchecked Sendable {
  // Unchecked only because the class is open: what can change is in the transfer, which guards it.

  let transfer: Transfer
  let reference: StorageReference

  init(_ reference: StorageReference, _ transfer: Transfer) {
    self.reference = reference
    self.transfer = transfer
  }

  /// The transfer as it is now.
  public var snapshot: StorageTaskSnapshot { transfer.snapshot(of: self) }
}

/// A transfer that tells its observers what happens.
///
/// Handlers run on the bucket's callback queue. After success or failure all of them are removed.
open class StorageObservableTask: StorageTask, @unchecked Sendable {
  /// Has `handler` called with every event of this kind, once at once if the transfer is in such a state now. Returns
  /// what `removeObserver(withHandle:)` takes. Traps for `.unknown`.
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

  /// The handler is not called any more. Fine for a handle that is gone.
  open func removeObserver(withHandle handle: String) { transfer.removeObservers { $0 == handle } }

  /// Nobody is told of this status any more.
  open func removeAllObservers(for status: StorageTaskStatus) { transfer.removeObservers(of: status) }

  /// Nobody is told anything any more.
  open func removeAllObservers() { transfer.removeObservers { _ in true } }
}

/// An upload.
open class StorageUploadTask: StorageObservableTask, StorageTaskManagement, @unchecked Sendable {
  /// Does nothing: an upload is begun by the call that makes it.
  open func enqueue() { transfer.handle(.enqueue) }

  /// Pauses at once; what was transferred stays staged, also across restarts.
  open func pause() { transfer.handle(.pause) }

  /// Goes on after a pause.
  open func resume() { transfer.handle(.resume) }

  /// Ends it with `StorageError.cancelled`, and leaves nothing of it. Does nothing once the object is being made.
  open func cancel() { transfer.handle(.cancel) }
}

/// A download.
open class StorageDownloadTask: StorageObservableTask, StorageTaskManagement, @unchecked Sendable {
  /// Does nothing: a download is begun by the call that makes it.
  open func enqueue() { transfer.handle(.enqueue) }

  /// Pauses soon; observers are told when it has stopped.
  open func pause() { transfer.handle(.pause) }

  /// Goes on after a pause, with the content that the object had when the download began.
  open func resume() { transfer.handle(.resume) }

  /// Ends it with `StorageError.cancelled`, and leaves nothing of it.
  open func cancel() { transfer.handle(.cancel) }
}
