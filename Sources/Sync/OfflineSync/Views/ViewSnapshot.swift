// A state of a view, as listeners are told it.

package import DocumentStore

/// What a query finds, with what is known about how new that is.
package struct ViewSnapshot: Sendable {
  package let query: StructuredQuery
  package let documents: LiveResults
  package let old: LiveResults
  /// Since the state before.
  package let changes: [ViewChange]
  /// Some of the documents have writes that are pending.
  package let hasPendingWrites: Bool
  /// Those whose writes were accepted, and the outcome has not been shown yet.
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

  /// As the first one that someone is told: all documents are new.
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
  /// The same changes with places: applied one after the other to the state before, they give this one.
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
    // Mostly it has not moved; where it has, nobody but the list knows where it was.
    if let stored = change.document.stored, let key = query.sortKey(stored), old.entry(sortKey: key) != nil {
      return key
    }
    return old.entries.first { $0.document.path == change.document.path }?.sortKey
  }
}

/// A change and where it happens.
package struct PlacedChange: Sendable {
  package let change: ViewChange
  /// Where it was, once all changes before this one have been made; nil for an addition.
  package let oldIndex: Int?
  /// Where it is then; nil for a removal.
  package let newIndex: Int?
}
