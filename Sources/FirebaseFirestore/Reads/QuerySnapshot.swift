// The results of a query at one moment.

private import DocumentStore
public import Foundation
import OfflineSync

/// What a query found, in its order, and what is new since the snapshot before.
public final class QuerySnapshot: NSObject, Sendable {
  public let query: Query
  public let metadata: SnapshotMetadata
  public let documents: [QueryDocumentSnapshot]

  /// The answer to one question: all of it is new.
  init(_ query: Query, _ viewed: ViewedDocuments) {
    self.query = query
    metadata = SnapshotMetadata(
      hasPendingWrites: viewed.documents.contains(where: \.hasPendingWrites),
      isFromCache: viewed.isFromCache)
    documents = viewed.documents.map { document in
      QueryDocumentSnapshot(DocumentReference(query.firestore, document.path.segments), document)
    }
  }

  public var isEmpty: Bool { documents.isEmpty }

  public var count: Int { documents.count }

  /// What happened since the last snapshot, apart from changes of metadata alone.
  public var documentChanges: [DocumentChange] { documentChanges(includeMetadataChanges: false) }

  public func documentChanges(includeMetadataChanges: Bool) -> [DocumentChange] {
    documents.enumerated().map { DocumentChange(.added, $1, from: nil, to: $0) }
  }

  /// Equal means the same query, documents, changes and metadata.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? QuerySnapshot else { return false }
    return query == other.query && documents == other.documents && metadata == other.metadata
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(query)
    hasher.combine(documents)
    hasher.combine(metadata)
    return hasher.finalize()
  }
}
