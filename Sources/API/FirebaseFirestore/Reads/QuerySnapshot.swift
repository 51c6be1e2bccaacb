// The results of a query at one moment.

import DocumentStore
import FirebaseCore
public import Foundation
import OfflineSync

/// What a query found, in its order, and what is new since the snapshot before.
public final class QuerySnapshot: NSObject, Sendable {
  /// What was asked.
  public let query: Query
  /// Where the results are from, and whether writes wait.
  public let metadata: SnapshotMetadata
  /// How many documents there are.
  public let count: Int

  private let content: Guarded<Content>
  /// Nil for the answer to one question, of which all is new.
  private let changes: [DocumentChange]?
  let knowsMetadataChanges: Bool
  /// Of the changes, those of metadata alone.
  private let metadataChanges: Set<Int>

  private enum Content {
    case documents([QueryDocumentSnapshot])
    /// Made into snapshots when somebody asks: often only the changes count.
    case live(LiveResults)
    /// The same with a remote: some documents may have pending writes.
    case view(LiveResults)
  }

  /// The answer to one question.
  init(_ query: Query, _ viewed: ViewedDocuments) {
    self.query = query
    metadata = SnapshotMetadata.of(
      hasPendingWrites: viewed.documents.contains(where: \.hasPendingWrites),
      isFromCache: viewed.isFromCache)
    count = viewed.documents.count
    content = Guarded(
      .documents(
        viewed.documents.map { document in
          QueryDocumentSnapshot(DocumentReference(query.firestore, document.path.segments), document)
        }))
    changes = nil
    knowsMetadataChanges = true
    metadataChanges = []
  }

  /// A state that a listener is told.
  init(_ query: Query, _ live: LiveSnapshot, _ options: SnapshotListenOptions) {
    self.query = query
    let isFromCache = options.source == .cache
    metadata = SnapshotMetadata.of(hasPendingWrites: false, isFromCache: isFromCache)
    count = live.documents.count
    content = Guarded(.live(live.documents))
    changes = live.changes.map { change in
      DocumentChange(
        DocumentChangeType(change.kind),
        Self.snapshot(change.document, in: query.firestore, isFromCache: isFromCache),
        from: change.oldIndex, to: change.newIndex)
    }
    knowsMetadataChanges = options.includeMetadataChanges
    metadataChanges = []
  }

  /// A state that a listener is told, with a remote.
  init(_ query: Query, _ view: ViewSnapshot, _ options: SnapshotListenOptions) {
    self.query = query
    metadata = SnapshotMetadata.of(hasPendingWrites: view.hasPendingWrites, isFromCache: view.isFromCache)
    count = view.documents.count
    content = Guarded(.view(view.documents))
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

  /// Some of the documents of another one.
  init(
    _ query: Query, _ documents: [QueryDocumentSnapshot], _ changes: [DocumentChange]?,
    metadataChanges: Set<Int>, knowsMetadataChanges: Bool, _ metadata: SnapshotMetadata
  ) {
    self.query = query
    self.metadata = metadata
    count = documents.count
    content = Guarded(.documents(documents))
    self.changes = changes
    self.metadataChanges = metadataChanges
    self.knowsMetadataChanges = knowsMetadataChanges
  }

  /// Whether there are none.
  public var isEmpty: Bool { count == 0 }

  /// In the order of the query.
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

  /// The last of the documents for which that is so, without making those before it.
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

  /// What happened since the last snapshot of this listener, apart from changes of metadata alone: removals, then
  /// additions, then modifications, to be applied one after the other.
  public var documentChanges: [DocumentChange] { documentChanges(includeMetadataChanges: false) }

  /// Traps if changes of metadata are asked for and the listener did not.
  public func documentChanges(includeMetadataChanges: Bool) -> [DocumentChange] {
    guard !includeMetadataChanges || knowsMetadataChanges else {
      ProgrammerError.trap(
        "To include metadata changes with your document changes, you must call "
          + "addSnapshotListener(includeMetadataChanges:true).")
    }
    if !includeMetadataChanges, !metadataChanges.isEmpty, let changes {
      return changes.enumerated().filter { !metadataChanges.contains($0.offset) }.map(\.element)
    }
    return changes ?? documents.enumerated().map { DocumentChange(.added, $1, from: nil, to: $0) }
  }

  /// Equal means the same query, documents, changes and metadata.
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
