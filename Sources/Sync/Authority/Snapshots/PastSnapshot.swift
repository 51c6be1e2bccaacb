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

  func forEach(_ query: StructuredQuery, _ body: (DocumentRecord) -> Bool) throws(RemoteError) {
    let snapshot = try opened()
    let found = try translating { () throws(DocumentStoreError) in
      try self.records(query, in: snapshot)
    }
    for record in found { guard body(record) else { return } }
  }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(RemoteError) -> [StoredValue] {
    let snapshot = try opened()
    return try translating { () throws(DocumentStoreError) -> [StoredValue] in
      guard concerns(query) else { return try snapshot.aggregate(aggregates, over: query) }
      try Aggregate.check(aggregates)
      var aggregation = Aggregation(aggregates)
      for record in try records(query, in: snapshot) { aggregation.add(record.document) }
      return aggregation.results
    }
  }

  // MARK: Queries

  /// Whether the result of a query can differ from that in the snapshot.
  private func concerns(_ query: StructuredQuery) -> Bool {
    changed.keys.contains { query.scope.contains($0) }
  }

  private func records(
    _ query: StructuredQuery, in snapshot: StoreSnapshot
  ) throws(DocumentStoreError) -> [DocumentRecord] {
    guard concerns(query) else { return try snapshot.records(query) }
    // A limit on the last documents is one on the first documents of the mirrored query.
    let run = query.executableForm
    let added = changed.values.compactMap { $0 }.filter { run.matches($0) }
      .sorted { run.compare($0, $1) == .before }
    let records = Self.merge(
      try unchanged(run, in: snapshot), added.map { DocumentRecord($0) }, inOrderOf: run)
    let found = Array(records.dropFirst(run.offset).prefix(Self.count(run.limit) ?? records.count))
    if case .last = query.limit { return found.reversed() }
    return found
  }

  /// The documents of the result that have not changed, and as many as the limit can need.
  private func unchanged(
    _ run: StructuredQuery, in snapshot: StoreSnapshot
  ) throws(DocumentStoreError) -> [DocumentRecord] {
    var wider = try run.skipping(0)
    if let count = Self.count(run.limit) {
      let (most, isTooLarge) = count.addingReportingOverflow(run.offset + changed.count)
      wider = try wider.limited(to: .first(isTooLarge ? .max : most))
    }
    return try snapshot.records(wider).filter { changed[$0.path] == nil }
  }

  private static func count(_ limit: StructuredQuery.Limit?) -> Int? {
    switch limit {
    case .first(let count), .last(let count): count
    case nil: nil
    }
  }

  /// Merges two ordered lists.
  private static func merge(
    _ left: [DocumentRecord], _ right: [DocumentRecord], inOrderOf run: StructuredQuery
  ) -> [DocumentRecord] {
    guard !right.isEmpty else { return left }
    var merged: [DocumentRecord] = []
    merged.reserveCapacity(left.count + right.count)
    var rest = right[...]
    for record in left {
      let document = record.document
      while let next = rest.first, run.compare(next.document, document) == .before {
        merged.append(next)
        rest.removeFirst()
      }
      merged.append(record)
    }
    return merged + rest
  }
}
