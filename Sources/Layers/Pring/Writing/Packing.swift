// What objects know about a batch that they are packed into.

import FirebaseFirestore
import FirebaseStorage
private import Foundation

/// One for each batch: who is in it, whom to tell how it fared, and which files go once it is committed.
final class Packing: BatchCompanion, @unchecked Sendable {
  // Unchecked, because it belongs to the thread of the objects until the commit, and to the end of that
  // afterwards.

  private struct Visit: Hashable {
    var object: ObjectIdentifier
    var isDeletion: Bool
  }

  private var visits: Set<Visit> = []
  /// Objects whose loaded members are deleted with them.
  private var emptied: Set<ObjectIdentifier> = []
  /// They keep the objects as well, so that identifiers stay what they are.
  private var landings: [((any Error)?) -> Void] = []
  /// Of what was replaced and removed.
  let removals = DeleteContainer()

  /// A batch that nobody commits any more wrote nothing: what it carried is to be written by the next.
  deinit {
    guard !landings.isEmpty else { return }
    tell(DocumentError(kind: .lostCompletion, description: "The batch has gone without an end."))
  }

  static func of(_ batch: WriteBatch) -> Packing {
    if let packing = batch.companion as? Packing { return packing }
    let packing = Packing()
    batch.companion = packing
    return packing
  }

  /// False if it is in the batch already. Whoever is added takes part in what comes of it.
  func add(_ object: Object, _ type: BatchType) -> Bool {
    guard visits.insert(Visit(object: ObjectIdentifier(object), isDeletion: type == .delete)).inserted else {
      return false
    }
    landings.append { _ in withExtendedLifetime(object) {} }
    return true
  }

  /// False if the members of the object are in the batch already. The object itself is.
  func addMembers(of object: Object) -> Bool { emptied.insert(ObjectIdentifier(object)).inserted }

  func onEnd(_ landing: @escaping ((any Error)?) -> Void) { landings.append(landing) }

  func remove(_ files: [StorageReference]) { removals.files += files }

  func batchEnded(_ error: (any Error)?, on queue: DispatchQueue?, then: @escaping () -> Void) {
    tell(error)
    guard error == nil else { return then() }
    removals.begin(on: queue) { _ in then() }
  }

  func tell(_ error: (any Error)?) {
    for landing in landings { landing(error) }
    landings = []
  }

  /// What is left over if this fails is nobody's any more; the document is right.
  nonisolated(nonsending) func removeFiles() async {
    await withCheckedContinuation { done in removals.begin(on: nil) { _ in done.resume() } }
  }
}
