// The objects that a batch writes, and the files that are deleted after its commit.

private import FirebaseCore
import FirebaseFirestore
import FirebaseStorage
private import Foundation

/// The state of one batch: its objects, the closures that receive its result, and the files to delete after
/// its commit.
final class Packing: BatchCompanion, @unchecked Sendable {
  // Unchecked, because it is never used concurrently. Before the commit, only the thread that uses the
  // objects uses it. After the commit, only the completion of the commit uses it.

  private struct Visit: Hashable {
    var object: ObjectIdentifier
    var isDeletion: Bool
  }

  private var visits: Set<Visit> = []
  /// Objects whose loaded members are deleted with them.
  private var emptied: Set<ObjectIdentifier> = []
  /// Closures that receive the result of the batch. The closures also keep the objects alive, so that no new
  /// object can get the `ObjectIdentifier` of an object in the batch.
  private var completions: [((any Error)?) -> Void] = []
  /// The deletions of replaced and removed files.
  let removals = DeleteContainer()

  /// If a batch is freed without a commit, it has written nothing. The objects receive an error, so that
  /// their next write includes the changes.
  deinit {
    guard !completions.isEmpty else { return }
    notifyCompletions(
      DocumentError(kind: .lostCompletion, description: "The batch was freed without a commit."))
  }

  static func of(_ batch: WriteBatch) -> Packing {
    if let packing = batch.companion as? Packing { return packing }
    let packing = Packing()
    batch.companion = packing
    return packing
  }

  /// Adds an object and keeps it alive until the batch ends. Returns false if the object is already in the
  /// batch.
  func add(_ object: Object, _ type: BatchType) -> Bool {
    guard visits.insert(Visit(object: ObjectIdentifier(object), isDeletion: type == .delete)).inserted else {
      return false
    }
    completions.append { _ in withExtendedLifetime(object) {} }
    return true
  }

  /// Records that the batch deletes the loaded members of an object. Returns false if that is already
  /// recorded. The object itself is already in the batch.
  func addMembers(of object: Object) -> Bool { emptied.insert(ObjectIdentifier(object)).inserted }

  func onEnd(_ completion: @escaping ((any Error)?) -> Void) { completions.append(completion) }

  func remove(_ files: [StorageReference]) { removals.files += files }

  func batchEnded(_ error: (any Error)?, on queue: DispatchQueue?, then: @escaping () -> Void) {
    notifyCompletions(error)
    guard error == nil else { return then() }
    removals.begin(on: queue) { _ in then() }
  }

  func notifyCompletions(_ error: (any Error)?) {
    for completion in completions { completion(error) }
    completions = []
  }

  /// Deletes the replaced and removed files. If a deletion fails, an unreferenced file remains in the
  /// storage, but the document is correct.
  nonisolated(nonsending) func removeFiles() async {
    await awaitValue { done in removals.begin(on: nil) { _ in done(()) } }
  }
}
