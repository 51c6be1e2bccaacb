// The transfers under way, by the paths of their files.

import ByteStore
import FirebaseCore
import FirebaseStorage

/// The last upload and the last download of each path. A transfer that has ended is removed.
struct StorageTaskStore: Sendable {
  static let shared = StorageTaskStore()

  let uploads = RunningTransfers<StorageUploadTask>()
  let downloads = RunningTransfers<StorageDownloadTask>()
}

/// The last task of each path.
final class RunningTransfers<Transfer: StorageObservableTask>: Sendable {
  private struct State: @unchecked Sendable {
    // Unchecked, because any thread may use tasks.
    var tasks: [String: Transfer] = [:]
  }

  private let state = Locked(State())

  subscript(path: String) -> Transfer? {
    get { state.withLock { $0.tasks[path] } }
    set {
      let arriving = Transferred(newValue)
      state.withLock { $0.tasks[path] = arriving.value }
      guard let newValue else { return }
      for status in [StorageTaskStatus.success, .failure] {
        _ = newValue.observe(status) { [self] _ in if let task = arriving.value { remove(task, path) } }
      }
    }
  }

  /// Removes the task at a path if its transfer has ended. If a newer task has started at the path since
  /// then, that task stays.
  func removeEnded(_ path: String) {
    guard let task = self[path], [.success, .failure].contains(task.snapshot.status) else { return }
    remove(task, path)
  }

  private func remove(_ task: Transfer, _ path: String) {
    let ended = Transferred(task)
    state.withLock { state in if state.tasks[path] == ended.value { state.tasks[path] = nil } }
  }
}
