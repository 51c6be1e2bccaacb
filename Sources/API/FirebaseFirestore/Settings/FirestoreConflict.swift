// What becomes of writes that waited while others changed their document.

import DocumentStore
private import FirebaseCore
import OfflineSync

/// A document that others have changed at the remote since writes of it were made here that still wait. Writes with
/// conditions of their own, those that StreamBaseKit counts for instance, are none of these: they are not shown and not
/// replaced, and their conditions decide about them as a whole. Fields that they change before those that are replaced
/// stay as they make them, unless what others have made of the document rules out that they happen.
///
/// ```swift
/// let settings = FirestoreSettings()
/// settings.conflictResolver = { conflict in
///   let ours = conflict.local.data()?["tags"] as? [String] ?? []
///   let theirs = conflict.remote.data()?["tags"] as? [String] ?? []
///   return .write(["tags": Set(ours + theirs).sorted()])
/// }
/// ```
public struct FirestoreConflict: Sendable {
  /// As the remote had it when the writes were made.
  public let base: DocumentSnapshot
  /// As it is here, with the writes that wait and are up to the resolver.
  public let local: DocumentSnapshot
  /// As the remote has it now.
  public let remote: DocumentSnapshot

  /// What is written in the end.
  public enum Resolution {
    /// The writes happen as they were made: the last one wins, as without a resolver.
    case keepWrites
    /// The document consists of this from now on, in the place of all writes of it that wait.
    case write([String: Any])
    /// The document is deleted in their place.
    case delete
    /// None of them happens.
    case dropWrites
  }
}

/// What settings hold: the same as itself, whatever it does.
final class ConflictChoice: Sendable {
  let resolve: @Sendable (FirestoreConflict) -> FirestoreConflict.Resolution

  init(_ resolve: @escaping @Sendable (FirestoreConflict) -> FirestoreConflict.Resolution) {
    self.resolve = resolve
  }

  /// The same for the engine.
  func resolver(for firestore: Firestore) -> ConflictResolver {
    { [self, weak firestore] conflict in
      // It ends: nothing more is sent.
      guard let firestore else { return .keepWrites }
      return resolution(conflict, firestore)
    }
  }

  private func resolution(_ conflict: WriteConflict, _ firestore: Firestore) -> ConflictResolution {
    let reference = DocumentReference(firestore, conflict.path.segments)
    let (base, local, remote) = (conflict.base, conflict.local, conflict.remote)
    func snapshot(_ document: StoredDocument?, isPending: Bool) -> DocumentSnapshot {
      DocumentSnapshot(
        reference,
        ViewedDocument(
          path: conflict.path, record: document.map { DocumentRecord($0) }, hasPendingWrites: isPending,
          isFromCache: isPending))
    }
    let told = FirestoreConflict(
      base: snapshot(base, isPending: false), local: snapshot(local, isPending: true),
      remote: snapshot(remote, isPending: false))
    switch resolve(told) {
    case .keepWrites: return .keepWrites
    case .dropWrites: return .dropWrites
    case .delete: return .replaceWrites(.delete(conflict.path))
    case .write(let data):
      do {
        return .replaceWrites(
          try UserWrite.Place(path: conflict.path, firestore: firestore).set(data, merge: false))
      } catch {
        ProgrammerError.trap("What a conflict resolver has written cannot be stored: \(error)")
      }
    }
  }
}
