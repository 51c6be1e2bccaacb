// Query snapshots without the documents that the predicate of a higher layer rejects.

import DocumentStore

extension QuerySnapshot {
  /// Returns the snapshot of a one-time read, reduced to the accepted documents.
  package func filtered(_ accepts: (QueryDocumentSnapshot) -> Bool) -> QuerySnapshot {
    filtered(documents.filter(accepts), nil)
  }

  /// Returns the next filtered snapshot of a listener. `earlier` is the previous filtered snapshot of that
  /// listener, or nil for the first.
  package func filtered(
    after earlier: QuerySnapshot?, _ accepts: (QueryDocumentSnapshot) -> Bool
  ) -> QuerySnapshot {
    let new = documents.filter(accepts)
    var difference = FilteredDifference(query, earlier?.documents ?? [])
    difference.lead(
      to: new, documentChanges(includeMetadataChanges: knowsMetadataChanges), counted: documentChanges)
    return filtered(new, difference)
  }

  private func filtered(
    _ documents: [QueryDocumentSnapshot], _ difference: FilteredDifference?
  ) -> QuerySnapshot {
    QuerySnapshot(
      query, documents, changes: difference?.changes, metadataChanges: difference?.metadataChanges ?? [],
      knowsMetadataChanges: knowsMetadataChanges,
      metadata: SnapshotMetadata.of(
        hasPendingWrites: documents.contains { $0.metadata.hasPendingWrites },
        isFromCache: metadata.isFromCache))
  }

  /// Whether this snapshot contains no change for a listener that has already received `other`.
  package func hasSameContent(as other: QuerySnapshot) -> Bool {
    (metadata == other.metadata || !knowsMetadataChanges)
      && documentChanges(includeMetadataChanges: knowsMetadataChanges).isEmpty
  }
}

/// The changes between two lists of accepted documents, in the order in which a listener receives them:
/// removals, additions, modifications.
private struct FilteredDifference {
  private struct Entry {
    var key: [UInt8]
    var document: QueryDocumentSnapshot
  }

  private(set) var changes: [DocumentChange] = []
  private(set) var metadataChanges = Set<Int>()
  private let query: Query
  /// Sorted by key.
  private var list: [Entry]

  init(_ query: Query, _ old: [QueryDocumentSnapshot]) {
    self.query = query
    list = old.map { Entry(key: query.sortKey($0) ?? [], document: $0) }
  }

  /// Computes the changes from the present list to `new`. `changed` contains the changes of the unfiltered
  /// query, and `counted` contains those of them that do not affect metadata only.
  mutating func lead(
    to new: [QueryDocumentSnapshot], _ changed: [DocumentChange], counted: [DocumentChange]
  ) {
    let new = new.map { Entry(key: query.sortKey($0) ?? [], document: $0) }
    let old = Dictionary(list.map { ($0.document.reference, $0.key) }) { first, _ in first }
    let here = Set(new.map(\.document.reference))
    let changed = Set(changed.map(\.document.reference))
    let counted = Set(counted.map(\.document.reference))
    for entry in list where !here.contains(entry.document.reference) {
      let index = remove(entry.key)
      changes.append(DocumentChange(.removed, entry.document, from: index, to: nil))
    }
    for entry in new where old[entry.document.reference] == nil {
      changes.append(DocumentChange(.added, entry.document, from: nil, to: insert(entry)))
    }
    for entry in new where changed.contains(entry.document.reference) {
      guard let key = old[entry.document.reference] else { continue }
      let index = remove(key)
      if !counted.contains(entry.document.reference) { metadataChanges.insert(changes.count) }
      changes.append(DocumentChange(.modified, entry.document, from: index, to: insert(entry)))
    }
  }

  private mutating func remove(_ key: [UInt8]) -> Int {
    let index = place(of: key)
    list.remove(at: index)
    return index
  }

  private mutating func insert(_ entry: Entry) -> Int {
    let index = place(of: entry.key)
    list.insert(entry, at: index)
    return index
  }

  /// Returns the index of the first entry whose key is not less than `key`.
  private func place(of key: [UInt8]) -> Int {
    var (low, high) = (0, list.count)
    while low < high {
      let middle = (low + high) / 2
      if list[middle].key.lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
