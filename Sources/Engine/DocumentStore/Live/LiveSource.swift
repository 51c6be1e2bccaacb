// The interface through which live queries read the store: the results of queries, and the indexes for them.

struct LiveAnswer {
  var documents: [StoredDocument]
  /// The number of commits that the answer includes, counted since the store was opened.
  var position: UInt64
  /// The time of the last commit that the answer includes; nil if it is unknown or there is none.
  var time: StoredTimestamp?
  /// The last entry of the change feed that the answer includes; nil if it is unknown or there is none.
  var feed: FeedPosition?
  /// The states of the documents that were seen before and are not in the answer, by key. Nil for documents
  /// that do not exist.
  var left: [[UInt8]: StoredDocument?] = [:]
  /// The indexes that the answer was read from.
  var indexes: [IndexDefinition] = []
  /// True if another index would make the query faster.
  var lacksIndex = false

  var mark: CommitMark { CommitMark(number: position, time: time, feed: feed) }
}

/// Runs the queries of live views.
protocol LiveSource: AnyObject, Sendable {
  /// Runs a query. Builds a missing index first. The answer includes the states of the documents in `seen`
  /// that have left the result.
  func answer(_ query: StructuredQuery, seen: LiveResults) throws(DocumentStoreError) -> LiveAnswer

  /// Runs a query with the existing indexes only. The calling thread holds up every commit, so the result is
  /// nil if the query would have to wait for commits.
  func answerWithoutWaiting(
    _ query: StructuredQuery, seen: LiveResults
  ) throws(DocumentStoreError) -> LiveAnswer?

  /// The last commit that readers see.
  var lastCommit: CommitMark? { get }

  /// Runs `body` in a background thread.
  func runInBackground(_ body: @escaping @Sendable () -> Void)

  /// Pins indexes. Until they are unpinned, they are evicted only if no other index can be evicted.
  func pin(_ indexes: [IndexDefinition])
  func unpin(_ indexes: [IndexDefinition])

  /// Builds the indexes that a query needs and then calls `body`. Commits continue during the build.
  func makeIndexes(for query: StructuredQuery, then body: @escaping @Sendable () -> Void)
}
