// Waits for events of transfers. The end of the test's task, such as by a time limit, also ends a wait.

import ByteStore

@testable import FirebaseStorage

extension StorageObservableTask {
  /// Returns when an observer of one of these statuses receives a snapshot that satisfies `condition`.
  func reaches(
    _ statuses: StorageTaskStatus..., where condition: @escaping (StorageTaskSnapshot) -> Bool = { _ in true }
  ) async {
    let (events, continuation) = AsyncStream<Void>.makeStream()
    for status in statuses {
      observe(status) { snapshot in if condition(snapshot) { continuation.yield() } }
    }
    for await _ in events { return }
  }
}

extension StorageTask {
  /// Returns when at least `bytes` bytes are transferred.
  func completes(_ bytes: Int64) async {
    let (events, continuation) = AsyncStream<Void>.makeStream()
    transfer.whenCompleted(bytes) { continuation.yield() }
    for await _ in events { return }
  }
}

extension StorageDownloadTask {
  /// Cancels the download. Returns when its worker has discarded the received bytes.
  func cancelAndDiscard() async {
    let (events, continuation) = AsyncStream<Void>.makeStream()
    // The transfer calls this closure after the cleanup, on the same serial queue.
    transfer.whenEnded(of: self) { _ in continuation.yield() }
    cancel()
    for await _ in events { return }
  }
}
