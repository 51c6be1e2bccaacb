// Conflicts between pending writes and changes that other clients made to the same document.

import DocumentStore
private import FirebaseCore
import OfflineSync

/// A document with pending writes that other clients have changed at the remote since these writes were
/// issued. Writes with preconditions of their own, such as StreamBaseKit's counters, do not take part. They
/// are neither shown nor replaced, and their preconditions decide about them as a whole. If they change
/// fields before the replaced writes do, these changes stay, unless the remote's version of the document
/// fails their preconditions.
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
  /// The remote's version when the writes were issued.
  public let base: DocumentSnapshot
  /// The local version, with the pending writes that the resolver decides about.
  public let local: DocumentSnapshot
  /// The remote's version now.
  public let remote: DocumentSnapshot

  /// The decision about the pending writes.
  public enum Resolution {
    /// Sends the writes unchanged. The last write wins, as without a resolver.
    case keepWrites
    /// Replaces all pending writes of the document with one that sets its contents to these fields.
    case write([String: Any])
    /// Replaces all pending writes of the document with its deletion.
    case delete
    /// Drops all pending writes of the document.
    case dropWrites
  }
}

extension FirestoreSettings {
  /// Decides about pending writes whose document other clients have changed at the remote. Without a
  /// resolver, the last write wins. It runs on an internal queue that waits for it, so it must not use the
  /// database.
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
      // The database is being terminated and sends nothing more.
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
