// Uploads and deletions of the files of several objects.

private import FirebaseCore
import FirebaseStorage
private import Foundation
import LayerKit

/// The uploads of one save. All uploads are collected before any of them starts.
public class UploadContainer {
  /// The files, each with the name of its property. For a file of another object, the name starts with the
  /// path to that object.
  var files: [(name: String, file: any OwnedFile)] = []
  private var visited: Set<ObjectIdentifier> = []
  /// The time limit in seconds for all uploads together.
  var timeout = 30
  private(set) var tasks: [String: StorageUploadTask] = [:]

  init() {}

  /// Marks the object as visited. Returns false if it already was.
  func visit(_ object: Object) -> Bool { visited.insert(ObjectIdentifier(object)).inserted }

  /// Starts all uploads. Calls `block` once on `queue`, with the first error, when all uploads have ended or
  /// the timeout has passed. A timeout cancels the pending uploads.
  func begin(on queue: DispatchQueue, _ block: (((any Error)?) -> Void)?) -> [String: StorageUploadTask] {
    let answer = Transferred(block)
    let transfers = TransferGroup(count: files.count) { error in
      let error = Transferred(error)
      queue.async { answer.value?(error.value) }
    }
    for (index, entry) in files.enumerated() {
      let task = entry.file.save(entry.file.key ?? entry.name) { _, error in transfers.end(index, error) }
      tasks[entry.name] = task
      if let task { transfers.begin(task) }
    }
    transfers.expire(
      after: timeout, on: queue,
      error: DocumentError(
        kind: .timeout, description: "The uploads took longer than \(timeout) seconds; nothing was written."))
    return tasks
  }
}

/// The deletions of the files of an object.
public class DeleteContainer {
  var files: [StorageReference] = []
  /// The time limit in seconds for all deletions together.
  var timeout = 30
  private var visited: Set<ObjectIdentifier> = []

  init() {}

  func visit(_ object: Object) -> Bool { visited.insert(ObjectIdentifier(object)).inserted }

  /// Starts all deletions and ignores their errors. Calls `block` once, when all deletions have ended or the
  /// timeout has passed. Deletions that are pending at the timeout continue. `block` runs on `queue`, unless
  /// `queue` is nil. If there are no files, calls `block` at once.
  func begin(on queue: DispatchQueue?, _ block: (((any Error)?) -> Void)?) {
    guard !files.isEmpty else {
      block?(nil)
      return
    }
    let answer = Transferred(block)
    let transfers = TransferGroup(count: files.count) { _ in
      guard let queue else {
        answer.value?(nil)
        return
      }
      queue.async { answer.value?(nil) }
    }
    for (index, file) in files.enumerated() {
      Task {
        try? await file.delete()
        transfers.end(index, nil)
      }
    }
    transfers.expire(
      after: timeout, on: .global(),
      error: DocumentError(
        kind: .timeout, description: "The deletions of files took longer than \(timeout) seconds."))
  }
}
