// Waits for events of transfers.

import ByteStore

@testable import FirebaseStorage

extension StorageObservableTask {
  /// Returns when an observer of one of these statuses receives a snapshot that satisfies `condition`.
  func reaches(
    _ statuses: StorageTaskStatus..., where condition: @escaping (StorageTaskSnapshot) -> Bool = { _ in true }
  ) async {
    let isReached = Locked(false)
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      for status in statuses {
        observe(status) { snapshot in
          guard condition(snapshot) else { return }
          let wasReached = isReached.withLock { isReached in
            defer { isReached = true }
            return isReached
          }
          if !wasReached { done.resume() }
        }
      }
    }
  }
}

extension StorageTask {
  /// Returns when at least `bytes` bytes are transferred.
  func completes(_ bytes: Int64) async {
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      transfer.whenCompleted(bytes) { done.resume() }
    }
  }
}

extension StorageDownloadTask {
  /// Cancels the download. Returns when its worker has discarded the received bytes.
  func cancelAndDiscard() async {
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      // The transfer calls this closure after the cleanup, on the same serial queue.
      transfer.whenEnded(of: self) { _ in done.resume() }
      cancel()
    }
  }
}
