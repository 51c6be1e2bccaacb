// All documents at a time in the recent past:
//
//   documents at T = documents of an earlier snapshot + the changes of the commits after it, up to T

internal import ByteStore
internal import DocumentStore
internal import OfflineSync

/// An earlier snapshot, and the documents that have changed since.
final class PastSnapshot: BackendSnapshot {
  let version: SnapshotVersion
  private let snapshot: Locked<StoreSnapshot?>
  /// The last states of the changed documents; nil for those that do not exist.
  private let changed: [DocumentPath: StoredDocument?]

  init(_ snapshot: StoreSnapshot, _ changed: [DocumentPath: StoredDocument?], at version: SnapshotVersion) {
    self.snapshot = Locked(snapshot)
    self.changed = changed
    self.version = version
  }

  private func opened() throws(RemoteError) -> StoreSnapshot {
    guard let snapshot = snapshot.withLock({ $0 }) else {
      throw RemoteError(.failedPrecondition, "The snapshot was closed.")
    }
    return snapshot
  }

  /// Releases the snapshot, which other snapshots may use.
  func close() { snapshot.withLock { $0 = nil } }

  // MARK: Reading

  func documents(at paths: [DocumentPath]) throws(RemoteError) -> [DocumentRecord?] {
    let snapshot = try opened()
    return try translating { () throws(DocumentStoreError) in
      try paths.map { path throws(DocumentStoreError) -> DocumentRecord? in
        if let document = changed[path] { return document.map { DocumentRecord($0) } }
        return try snapshot.storedRecord(at: path)
      }
    }
  }

  func pages(_ query: StructuredQuery) throws(RemoteError) -> any BackendPages {
    let snapshot = try opened()
    guard concerns(query) else { return EmbeddedPages(snapshot.pages(query)) }
    return try translating { () throws(DocumentStoreError) in
      try PastPages(query, in: snapshot, changed: changed)
    }
  }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(RemoteError) -> [StoredValue] {
    let snapshot = try opened()
    return try translating { () throws(DocumentStoreError) -> [StoredValue] in
      guard concerns(query) else { return try snapshot.aggregate(aggregates, over: query) }
      try Aggregate.check(aggregates)
      var aggregation = Aggregation(aggregates)
      let pages = try PastPages(query, in: snapshot, changed: changed)
      while true {
        let page = try pages.nextPage()
        guard !page.isEmpty else { return aggregation.results }
        for record in page { aggregation.add(record.document) }
      }
    }
  }

  func page(of scan: PathScan, documentsMax: Int) throws(RemoteError) -> PathPage {
    let snapshot = try opened()
    return try translating { () throws(DocumentStoreError) in
      var page = try snapshot.page(of: scan, documentsMax: documentsMax)
      let part = page.part(of: scan)
      page.records.removeAll { changed[$0.path] != nil }
      page.add(changed.values.compactMap { $0 }.filter { part.contains($0.path) && !$0.path.isReserved })
      return page
    }
  }

  /// Whether the result of a query can differ from that in the snapshot.
  private func concerns(_ query: StructuredQuery) -> Bool {
    changed.keys.contains { query.scope.contains($0) }
  }

  func indexesUsed(by query: StructuredQuery) throws(RemoteError) -> [IndexDefinition?] {
    let snapshot = try opened()
    return try translating { () throws(DocumentStoreError) in try snapshot.indexesUsed(by: query) }
  }

  // MARK: Names

  func collections(
    below document: DocumentPath?, after: String?, max count: Int
  ) throws(RemoteError) -> [String] {
    let snapshot = try opened()
    return try translating { () throws(DocumentStoreError) in
      try snapshot.collectionIDs(
        below: document, after: after, max: count, changed: changed.mapValues { $0 != nil })
    }
  }

  func documentIDs(
    in collection: CollectionPath, after: String?, max count: Int
  ) throws(RemoteError) -> [String] {
    let snapshot = try opened()
    return try translating { () throws(DocumentStoreError) in
      try snapshot.documentIDs(
        in: collection, after: after, max: count, changed: changed.mapValues { $0 != nil })
    }
  }

  func splitPoints(ofGroup id: String, max count: Int) throws(RemoteError) -> [DocumentPath] {
    let snapshot = try opened()
    return try translating { () throws(DocumentStoreError) in
      try snapshot.splitPoints(ofGroup: id, max: count, changed: changed.mapValues { $0 != nil })
    }
  }
}
