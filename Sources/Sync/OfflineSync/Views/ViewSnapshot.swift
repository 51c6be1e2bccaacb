// A snapshot of a view, as delivered to listeners.

package import DocumentStore

/// A query's result and how current it is.
package struct ViewSnapshot: Sendable {
  package let query: StructuredQuery
  package let documents: LiveResults
  package let old: LiveResults
  /// The changes since the previous snapshot.
  package let changes: [ViewChange]
  /// Whether any of the documents has pending writes.
  package let hasPendingWrites: Bool
  /// The documents whose writes were accepted but whose results the watch stream has not delivered.
  package let committed: Set<DocumentPath>
  package internal(set) var isFromCache: Bool
  package let isSyncStateChanged: Bool
  package let hasCachedResults: Bool

  package func withChanges(_ changes: [ViewChange]) -> ViewSnapshot {
    ViewSnapshot(
      query: query, documents: documents, old: old, changes: changes, hasPendingWrites: hasPendingWrites,
      committed: committed, isFromCache: isFromCache, isSyncStateChanged: isSyncStateChanged,
      hasCachedResults: hasCachedResults)
  }

  /// This snapshot as the first snapshot of a listener: all documents count as added.
  package var asFirst: ViewSnapshot {
    ViewSnapshot(
      query: query, documents: documents, old: LiveResults(),
      changes: documents.map {
        ViewChange(.added, SyncedDocument(local: $0, isCommitted: committed.contains($0.path)))
      },
      hasPendingWrites: hasPendingWrites, committed: committed, isFromCache: isFromCache,
      isSyncStateChanged: true, hasCachedResults: hasCachedResults)
  }
}

extension ViewSnapshot {
  /// The changes with their indexes. Applied in order to the previous result, the changes give the current
  /// result.
  package var placedChanges: [PlacedChange] {
    var list = old
    return changes.map { change in
      var oldIndex: Int?
      var newIndex: Int?
      if change.kind != .added, let before = beforeKey(of: change, in: old) {
        oldIndex = list.remove(sortKey: before)
      }
      if change.kind != .removed, let stored = change.document.stored, let key = query.sortKey(stored),
        let entry = documents.entry(sortKey: key)
      {
        newIndex = list.insert(entry)
      }
      return PlacedChange(change: change, oldIndex: oldIndex, newIndex: newIndex)
    }
  }

  private func beforeKey(of change: ViewChange, in old: LiveResults) -> [UInt8]? {
    // Most documents have not moved. If a document has moved, its earlier position has to be searched for.
    if let stored = change.document.stored, let key = query.sortKey(stored), old.entry(sortKey: key) != nil {
      return key
    }
    return old.entries.first { $0.document.path == change.document.path }?.sortKey
  }
}

/// A change with its position.
package struct PlacedChange: Sendable {
  package let change: ViewChange
  /// The index of the document just before this change, when all earlier changes have been applied; nil for
  /// an addition.
  package let oldIndex: Int?
  /// The index after the change; nil for a removal.
  package let newIndex: Int?
}
