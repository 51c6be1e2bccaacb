// Results of queries with offsets, for callers that report how many documents were skipped.

import ByteStore

extension StoreSnapshot {
  /// The result of a query as encoded records, and the number of results that its offset has skipped.
  package func recordsBehindOffset(
    _ query: StructuredQuery
  ) throws(DocumentStoreError) -> (records: [DocumentRecord], skipped: Int) {
    var found = try run(query) { run throws(DocumentStoreError) in
      (records: try run.records(), skipped: run.offsetSkipped)
    }
    if case .last = query.limit { found.records.reverse() }
    return found
  }

  /// Calls `body` with each document of the result until `body` returns false. The documents are borrowed
  /// from the snapshot. Returns the number of results that the query's offset has skipped. Throws
  /// `invalidArgument` if the limit selects the last documents.
  @discardableResult
  package func forEach(
    _ query: StructuredQuery, _ body: (borrowing DocumentView) -> Bool
  ) throws(DocumentStoreError) -> Int {
    if case .last = query.limit {
      throw .invalidArgument(
        "A query for the last documents is answered from its end, and cannot be borrowed.")
    }
    return try run(query, mayRetry: false) { run throws(DocumentStoreError) in
      try run.forEach(body)
      return run.offsetSkipped
    }
  }
}
