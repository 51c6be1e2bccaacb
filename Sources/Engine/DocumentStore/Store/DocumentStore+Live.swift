// Listening to queries.

import ByteStore
public import Dispatch

extension DocumentStore {
  /// Calls `handler` on `queue` with the current result of a query, and again whenever a commit changes the
  /// result. Calls after the first one also have the changes. Results arrive in commit order. If the handler
  /// is slower than the commits, it gets the latest result, with all changes since its last call.
  ///
  /// A commit returns after the results that it changed are on the queues. A handler may start or remove
  /// listeners, and may commit. `listen` throws the errors of the query itself. A later error ends the
  /// listening and is passed to the handler.
  public func listen(
    to query: StructuredQuery, on queue: DispatchQueue, _ handler: @escaping LiveHandler
  ) throws(DocumentStoreError) -> LiveRegistration {
    try query.check()
    return try live.listen(query, LiveListener(queue, handler))
  }

  /// Listens with a custom queue. `enqueue` must run the deliveries one at a time and in order.
  package func listen(
    to query: StructuredQuery, enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    handler: @escaping LiveHandler
  ) throws(DocumentStoreError) -> LiveRegistration {
    try query.check()
    return try live.listen(query, LiveListener(enqueue: enqueue, handler))
  }
}

extension DocumentStore {
  /// Whether `listen` would return without building an index, because the query already has a listener or no
  /// index is missing. Another thread can change the answer at any time.
  package func isReady(toListenTo query: StructuredQuery) throws(DocumentStoreError) -> Bool {
    if live.isListening(to: query) { return true }
    return try isReady(query)
  }

  /// Returns when the results of all published commits are on the listeners' queues.
  package func waitForFollowing() { live.wait() }

  /// Puts the results of all published commits on the listeners' queues, and then calls `body` with the
  /// number of offers so far. A block that `body` puts on a queue comes between the results of two commits.
  ///
  /// A result that waits on a queue before that block can still be replaced by the result of a later commit.
  /// In that case, `liveOfferCount` differs from `offerCount` when the block runs.
  package func afterLiveResults(_ body: (_ offerCount: UInt64) -> Void) { live.afterCommits(body) }

  /// The number of times that a query offered a result to its listeners. It increases before each offer.
  package var liveOfferCount: UInt64 { live.offerCount }
}

extension LiveStream {
  /// Creates a stream without queries. `enqueue` puts a block on the consumer's queue. It is called under a
  /// lock, so it must not run the block.
  package convenience init(
    of store: DocumentStore, enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    handler: @escaping @Sendable (StreamSnapshot) -> Void
  ) {
    self.init(of: store.live, path: store.path, enqueue: enqueue, handler: handler)
  }
}

extension DocumentStore: LiveSource {
  func answer(_ query: StructuredQuery, seen: LiveResults) throws(DocumentStoreError) -> LiveAnswer {
    try run(query, checks: false) { run throws(DocumentStoreError) in try LiveAnswer(of: run, seen: seen) }
  }

  func answerWithoutWaiting(
    _ query: StructuredQuery, seen: LiveResults
  ) throws(DocumentStoreError) -> LiveAnswer? {
    let ready = try runIfIndexed(query, checks: false, isOfListener: true) { run throws(DocumentStoreError) in
      try LiveAnswer(of: run, seen: seen)
    }
    if let ready { return ready }
    return try runWithExistingIndexes(query) { run throws(DocumentStoreError) in
      try LiveAnswer(of: run, seen: seen, lacksIndex: createsIndexes)
    }
  }

  var lastCommit: CommitMark? {
    var position: UInt64 = 0
    guard let snapshot = try? bytes.snapshot(alongside: { position = publications.position }) else {
      return nil
    }
    return CommitMark(snapshot, number: position)
  }

  func runInBackground(_ body: @escaping @Sendable () -> Void) { Self.backgroundQueue.async(execute: body) }

  func pin(_ indexes: [IndexDefinition]) { self.indexes.pin(indexes) }

  func unpin(_ indexes: [IndexDefinition]) { self.indexes.unpin(indexes) }

  func makeIndexes(for query: StructuredQuery, then body: @escaping @Sendable () -> Void) {
    guard case .inBackground = options.maintenance else { return }
    Self.backgroundQueue.async { [weak self] in
      if let self, let first = try? query.limited(to: .first(1)) {
        _ = try? run(first, checks: false) { run throws(DocumentStoreError) in try run.documents() }
      }
      body()
    }
  }

  /// Runs index builds and reloads for live queries.
  static let backgroundQueue = DispatchQueue(label: "dugout.live.indexes", qos: .utility)
}

extension LiveAnswer {
  /// Runs the query. `seen` has the documents of the last answer.
  fileprivate init(
    of run: QueryRun, seen: LiveResults, lacksIndex: Bool = false
  ) throws(DocumentStoreError) {
    let mark = CommitMark(run.snapshot, number: run.position)
    self.init(
      documents: try run.encodedDocuments(), position: mark.number, time: mark.time, feed: mark.feed,
      indexes: run.plan.indexes, lacksIndex: lacksIndex)
    guard !seen.isEmpty else { return }
    let found = Set(documents.map(\.path))
    for entry in seen.entries where !found.contains(entry.document.path) {
      left[entry.name] = .some(try run.encodedDocument(at: entry.document.path))
    }
  }
}
