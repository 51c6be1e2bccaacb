// One change of the change feed.

import DocumentStore
public import FirebaseCore
import OfflineSync

/// The change of one document in one commit.
public struct FirestoreChange: Sendable {
  /// The kinds of changes.
  public enum Kind: Hashable, Sendable {
    /// The document was created or changed.
    case set
    /// The document was deleted.
    case delete
  }

  /// The position directly after this change.
  public let position: ChangePosition
  /// The time of the commit. All changes of a commit have the same time.
  public let commitTime: Timestamp
  /// The document that changed.
  public let document: DocumentReference
  /// Whether the document was set or deleted.
  public let kind: Kind
  /// The document after the commit; it does not exist after a deletion. The feed does not keep the document
  /// before the commit.
  public let snapshot: DocumentSnapshot
  /// Whether `snapshot` shows the document exactly as the commit left it. False only for a commit with more
  /// than 1 MiB of documents, which the feed does not keep. The snapshot then shows the document at the time
  /// at which this change was read. It may have changed again or be deleted; a later change reports that.
  public let hasCommittedData: Bool
  /// Whether it is certain that the document did not exist before the commit. False for documents whose times
  /// come from a remote or a bundle.
  public let isCreation: Bool
  /// Whether this is the last change of its commit.
  public let isLastOfCommit: Bool

  /// The number of the commit. A later change of the same document has a greater version.
  public var version: UInt64 { position.commit }
}

/// Creates changes from the entries of the feed.
struct ChangeMaker: Sendable {
  let firestore: Firestore
  let view: LocalView
  let hasRemote: Bool

  /// Returns the change at an index of a commit.
  func change(_ index: Int, of commit: FeedCommit) throws(DocumentStoreError) -> FirestoreChange {
    let stored = commit.changes[index]
    let reference = DocumentReference(firestore, stored.path.segments)
    let isLast = index == commit.changes.count - 1
    var (kind, hasCommittedData, isCreation) = (FirestoreChange.Kind.set, true, false)
    let snapshot: DocumentSnapshot
    switch stored.outcome {
    case .written(let document):
      snapshot = DocumentSnapshot(
        reference, document, hasPendingWrites: hasRemote && document.isPending, isFromCache: hasRemote)
      isCreation = document.createTime == commit.time
    case .writtenWithMuchElse:
      snapshot = DocumentSnapshot(
        reference, try view.record(at: stored.path, source: hasRemote ? .cache : .default))
      hasCommittedData = false
    case .removed:
      snapshot = DocumentSnapshot(reference, nil, isFromCache: hasRemote)
      kind = .delete
    }
    let position = ChangePosition(
      view.store.storeID, commit: commit.position.value, changeCount: isLast ? nil : UInt32(index + 1),
      time: commit.time.microseconds)
    return FirestoreChange(
      position: position, commitTime: Timestamp(commit.time), document: reference, kind: kind,
      snapshot: snapshot, hasCommittedData: hasCommittedData, isCreation: isCreation, isLastOfCommit: isLast)
  }
}
