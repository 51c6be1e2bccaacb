// The transfers under way, by the places of their files.

private import FirebaseCore
import FirebaseStorage

/// The last task of each place. One that has ended is no longer there.
final class StorageTaskStore: Sendable {
  static let shared = StorageTaskStore()

  private struct State: @unchecked Sendable {
    // Unchecked, because tasks are made to be used from any thread.
    var uploads: [String: StorageUploadTask] = [:]
    var downloads: [String: StorageDownloadTask] = [:]
  }

  private let state = Guarded(State())

  func get(upload path: String) -> StorageUploadTask? { state.withLock { $0.uploads[path] } }

  func get(download path: String) -> StorageDownloadTask? { state.withLock { $0.downloads[path] } }

  func set(upload path: String, task: StorageUploadTask?) {
    let arriving = Handed(task)
    state.withLock { $0.uploads[path] = arriving.value }
    guard let task else { return }
    onEnd(of: task) { [self] in
      state.withLock { state in
        if state.uploads[path] == arriving.value { state.uploads[path] = nil }
      }
    }
  }

  func set(download path: String, task: StorageDownloadTask?) {
    let arriving = Handed(task)
    state.withLock { $0.downloads[path] = arriving.value }
    guard let task else { return }
    onEnd(of: task) { [self] in
      state.withLock { state in
        if state.downloads[path] == arriving.value { state.downloads[path] = nil }
      }
    }
  }

  /// For a transfer that has just ended: one that has begun since then at the same place stays.
  func removeEnded(upload path: String) {
    guard let task = get(upload: path), task.isOver else { return }
    let ended = Handed(task)
    state.withLock { state in if state.uploads[path] == ended.value { state.uploads[path] = nil } }
  }

  /// The same.
  func removeEnded(download path: String) {
    guard let task = get(download: path), task.isOver else { return }
    let ended = Handed(task)
    state.withLock { state in if state.downloads[path] == ended.value { state.downloads[path] = nil } }
  }

  private func onEnd(of task: StorageObservableTask, _ body: @escaping () -> Void) {
    for status in [StorageTaskStatus.success, .failure] { _ = task.observe(status) { _ in body() } }
  }
}

extension StorageObservableTask {
  fileprivate var isOver: Bool { [.success, .failure].contains(snapshot.status) }
}
