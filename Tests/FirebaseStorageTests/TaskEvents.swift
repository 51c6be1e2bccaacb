// Waits for events of transfers.

import ByteStore
import FirebaseStorage

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

  /// Returns when at least this many bytes were transferred.
  func transfers(atLeast bytes: Int64) async {
    await reaches(.progress, .success) { $0.progress?.completedUnitCount ?? 0 >= bytes }
  }
}
