// Uploads and deletions of the files of several objects together.

private import FirebaseCore
import FirebaseStorage
private import Foundation
import LayerKit

/// The uploads of one save: collected first, then begun all at once.
public class UploadContainer {
  /// By the names of their properties; those of other objects behind the names that lead to them.
  var files: [(name: String, file: any OwnedFile)] = []
  private var visited: Set<ObjectIdentifier> = []
  /// In seconds, for all of them together.
  var timeout = 30
  private(set) var tasks: [String: StorageUploadTask] = [:]

  init() {}

  /// False if the object was here before.
  func visit(_ object: Object) -> Bool { visited.insert(ObjectIdentifier(object)).inserted }

  /// Begins all uploads. `block` is called on `queue` once, with the first error: when all have ended, or when the
  /// time is up; then those under way are cancelled.
  func begin(on queue: DispatchQueue, _ block: (((any Error)?) -> Void)?) -> [String: StorageUploadTask] {
    let answer = Handed(block)
    let transfers = TransferGroup(count: files.count) { error in
      let error = Handed(error)
      queue.async { answer.value?(error.value) }
    }
    for (index, entry) in files.enumerated() {
      let task = entry.file.save(entry.file.key ?? entry.name) { _, error in transfers.end(index, error) }
      tasks[entry.name] = task
      if let task { transfers.begin(task) }
    }
    transfers.expire(
      after: timeout, on: queue,
      DocumentError(
        kind: .timeout, description: "The uploads took longer than \(timeout) seconds; nothing was written."))
    return tasks
  }
}

/// The deletions of the files of an object.
public class DeleteContainer {
  var files: [StorageReference] = []
  /// In seconds, for all of them together.
  var timeout = 30
  private var visited: Set<ObjectIdentifier> = []

  init() {}

  func visit(_ object: Object) -> Bool { visited.insert(ObjectIdentifier(object)).inserted }

  /// Deletes all of them beside each other, whatever becomes of each. `block` is called once, on `queue` if there is one:
  /// when all have ended, or when the time is up; what is still to be deleted is deleted nevertheless. At once if there
  /// are none.
  func begin(on queue: DispatchQueue?, _ block: (((any Error)?) -> Void)?) {
    guard !files.isEmpty else {
      block?(nil)
      return
    }
    let answer = Handed(block)
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
      DocumentError(
        kind: .timeout, description: "The deletions of files took longer than \(timeout) seconds."))
  }
}
