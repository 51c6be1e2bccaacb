// The results of a query at one point in time.

import ByteStore
import DocumentStore
import FirebaseCore
public import Foundation
import OfflineSync

/// The results of a query in its order, and the changes since the previous snapshot.
public final class QuerySnapshot: NSObject, Sendable {
  /// The query that was run.
  public let query: Query
  /// The source of the results, and whether writes are pending.
  public let metadata: SnapshotMetadata
  /// The number of documents.
  public let count: Int

  private let content: Locked<Content>
  /// The changes; nil for a single read, in which every document counts as added.
  private let changes: [DocumentChange]?
  let knowsMetadataChanges: Bool
  /// The indexes of changes that affect metadata only.
  private let metadataChanges: Set<Int>

  private enum Content {
    case documents([QueryDocumentSnapshot])
    /// Results without a remote. They are converted to snapshots at the first access, because listeners often
    /// need only the changes.
    case live(LiveResults)
    /// Results with a remote, in which documents may have pending writes.
    case view(LiveResults)
  }

  /// Creates the snapshot of a single read.
  init(_ query: Query, _ viewed: ViewedDocuments) {
    self.query = query
    metadata = SnapshotMetadata.of(
      hasPendingWrites: viewed.documents.contains(where: \.hasPendingWrites),
      isFromCache: viewed.isFromCache)
    count = viewed.documents.count
    content = Locked(
      .documents(
        viewed.documents.map { document in
          QueryDocumentSnapshot(DocumentReference(query.firestore, document.path.segments), document)
        }))
    changes = nil
    knowsMetadataChanges = true
    metadataChanges = []
  }

  /// Creates a snapshot for a listener.
  init(_ query: Query, _ live: LiveSnapshot, options: SnapshotListenOptions) {
    self.query = query
    let isFromCache = options.source == .cache
    metadata = SnapshotMetadata.of(hasPendingWrites: false, isFromCache: isFromCache)
    count = live.documents.count
    content = Locked(.live(live.documents))
    changes = live.changes.map { change in
      DocumentChange(
        DocumentChangeType(change.kind),
        Self.snapshot(change.document, in: query.firestore, isFromCache: isFromCache),
        from: change.oldIndex, to: change.newIndex)
    }
    knowsMetadataChanges = options.includeMetadataChanges
    metadataChanges = []
  }

  /// Creates a snapshot for a listener, with a remote.
  init(_ query: Query, _ view: ViewSnapshot, options: SnapshotListenOptions) {
    self.query = query
    metadata = SnapshotMetadata.of(hasPendingWrites: view.hasPendingWrites, isFromCache: view.isFromCache)
    count = view.documents.count
    content = Locked(.view(view.documents))
    let placed = view.placedChanges
    metadataChanges = Set(placed.indices.filter { placed[$0].change.kind == .metadata })
    changes = placed.compactMap { placed in
      guard let stored = placed.change.document.stored else { return nil }
      return DocumentChange(
        DocumentChangeType(placed.change.kind),
        Self.snapshot(
          stored, in: query.firestore, isFromCache: view.isFromCache,
          hasPendingWrites: placed.change.document.pending == .local),
        from: placed.oldIndex, to: placed.newIndex)
    }
    knowsMetadataChanges = options.includeMetadataChanges
  }

  /// Creates a snapshot with some of the documents of another snapshot.
  init(
    _ query: Query, _ documents: [QueryDocumentSnapshot], changes: [DocumentChange]?,
    metadataChanges: Set<Int>, knowsMetadataChanges: Bool, metadata: SnapshotMetadata
  ) {
    self.query = query
    self.metadata = metadata
    count = documents.count
    content = Locked(.documents(documents))
    self.changes = changes
    self.metadataChanges = metadataChanges
    self.knowsMetadataChanges = knowsMetadataChanges
  }

  /// Whether the results are empty.
  public var isEmpty: Bool { count == 0 }

  /// The documents, in the order of the query.
  public var documents: [QueryDocumentSnapshot] {
    content.withLock { content in
      switch content {
      case .documents(let documents): return documents
      case .live(let results):
        let documents = results.map {
          Self.snapshot($0, in: query.firestore, isFromCache: metadata.isFromCache)
        }
        content = .documents(documents)
        return documents
      case .view(let results):
        let documents = results.map {
          Self.snapshot(
            $0, in: query.firestore, isFromCache: metadata.isFromCache,
            hasPendingWrites: $0.isPending)
        }
        content = .documents(documents)
        return documents
      }
    }
  }

  /// Returns the last document that satisfies the predicate. Creates no snapshots of earlier documents.
  package func lastDocument(where isWanted: (QueryDocumentSnapshot) -> Bool) -> QueryDocumentSnapshot? {
    switch content.withLock({ $0 }) {
    case .documents(let documents): documents.last(where: isWanted)
    case .live(let results): last(of: results, isWanted) { _ in false }
    case .view(let results): last(of: results, isWanted) { $0.isPending }
    }
  }

  private func last(
    of results: LiveResults, _ isWanted: (QueryDocumentSnapshot) -> Bool,
    hasPendingWrites: (StoredDocument) -> Bool
  ) -> QueryDocumentSnapshot? {
    for document in results.reversed() {
      let snapshot = Self.snapshot(
        document, in: query.firestore, isFromCache: metadata.isFromCache,
        hasPendingWrites: hasPendingWrites(document))
      if isWanted(snapshot) { return snapshot }
    }
    return nil
  }

  private static func snapshot(
    _ document: StoredDocument, in firestore: Firestore, isFromCache: Bool, hasPendingWrites: Bool = false
  ) -> QueryDocumentSnapshot {
    QueryDocumentSnapshot(
      DocumentReference(firestore, document.path.segments), document, hasPendingWrites: hasPendingWrites,
      isFromCache: isFromCache)
  }

  /// The changes since the previous snapshot of this listener, except changes of metadata only. Removals come
  /// first, then additions, then modifications. Apply the changes in this order.
  public var documentChanges: [DocumentChange] { documentChanges(includeMetadataChanges: false) }

  /// Returns the changes since the previous snapshot. Traps if metadata changes are requested but the
  /// listener does not include them.
  public func documentChanges(includeMetadataChanges: Bool) -> [DocumentChange] {
    guard !includeMetadataChanges || knowsMetadataChanges else {
      ProgrammerError.report(
        "To include metadata changes with your document changes, you must call "
          + "addSnapshotListener(includeMetadataChanges:true).")
      return []
    }
    if !includeMetadataChanges, !metadataChanges.isEmpty, let changes {
      return changes.enumerated().filter { !metadataChanges.contains($0.offset) }.map(\.element)
    }
    return changes ?? documents.enumerated().map { DocumentChange(.added, $1, from: nil, to: $0) }
  }

  /// Two snapshots are equal if they have the same query, documents, changes and metadata.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? QuerySnapshot else { return false }
    return query == other.query && metadata == other.metadata && documents == other.documents
      && documentChanges == other.documentChanges
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(query)
    hasher.combine(documents)
    hasher.combine(metadata)
    return hasher.finalize()
  }
}

extension DocumentChangeType {
  fileprivate init(_ kind: LiveChange.Kind) {
    self =
      switch kind {
      case .added: .added
      case .modified: .modified
      case .removed: .removed
      }
  }
}

extension DocumentChangeType {
  fileprivate init(_ kind: ViewChange.Kind) {
    self =
      switch kind {
      case .added: .added
      case .modified, .metadata: .modified
      case .removed: .removed
      }
  }
}
