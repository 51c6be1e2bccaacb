// Conflicts between pending writes and changes that other clients made to the same document.

import DocumentStore
private import FirebaseCore
import OfflineSync

/// A document that has pending writes, and that other clients have changed at the remote since these writes
/// were issued. Writes with preconditions of their own, such as StreamBaseKit's counters, do not take part:
/// the resolver neither sees nor replaces them. Their preconditions decide whether they are applied as a
/// whole. If such a write was issued before the replaced writes, its changes to the fields stay, unless the
/// remote's version of the document fails its preconditions.
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
  /// The remote's version of the document at the time when the writes were issued.
  public let base: DocumentSnapshot
  /// The local version of the document. It includes the pending writes that the resolver decides about.
  public let local: DocumentSnapshot
  /// The remote's current version of the document.
  public let remote: DocumentSnapshot

  /// The resolver's decision about the pending writes.
  public enum Resolution {
    /// Sends the writes unchanged. The last write wins, as without a resolver.
    case keepWrites
    /// Replaces all pending writes of the document with a single write that sets its contents to these
    /// fields.
    case write([String: Any])
    /// Replaces all pending writes of the document with a deletion of the document.
    case delete
    /// Drops all pending writes of the document.
    case dropWrites
  }
}

extension FirestoreSettings {
  /// Decides about the pending writes of a document that other clients have changed at the remote. If this is
  /// nil, the last write wins. The resolver runs on an internal queue. That queue waits until the resolver
  /// returns, so the resolver must not use the database.
  public var conflictResolver: (@Sendable (FirestoreConflict) -> FirestoreConflict.Resolution)? {
    get { (values.conflicts as? ConflictChoice)?.resolve }
    set { change { $0.conflicts = newValue.map { ConflictChoice($0) } } }
  }
}

private final class ConflictChoice: ConflictPolicy {
  let resolve: @Sendable (FirestoreConflict) -> FirestoreConflict.Resolution

  init(_ resolve: @escaping @Sendable (FirestoreConflict) -> FirestoreConflict.Resolution) {
    self.resolve = resolve
  }

  func resolver(for firestore: Firestore) -> ConflictResolver {
    { [self, weak firestore] conflict in
      // The database is being terminated and sends no more writes.
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
    let translated = FirestoreConflict(
      base: snapshot(base, isPending: false), local: snapshot(local, isPending: true),
      remote: snapshot(remote, isPending: false))
    switch resolve(translated) {
    case .keepWrites: return .keepWrites
    case .dropWrites: return .dropWrites
    case .delete: return .replaceWrites(.delete(conflict.path))
    case .write(let data):
      do {
        return .replaceWrites(
          try UserWrite.Place(path: conflict.path, firestore: firestore).set(data, merge: false))
      } catch {
        ProgrammerError.trap("The result of a conflict resolver cannot be stored: \(error)")
      }
    }
  }
}
