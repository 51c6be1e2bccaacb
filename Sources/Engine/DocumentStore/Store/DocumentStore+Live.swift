// Listening to queries.

import ByteStore
public import Dispatch

extension DocumentStore {
  /// Tells `handler` the answer of a query, and then each state of it that a commit makes, on `queue`: first the answer
  /// as of now, then what is different. States come in the order of the commits, each as one commit left it. If they
  /// come faster than the handler takes them, it gets the last one with all that has changed since it was told before.
  ///
  /// A commit returns after its states have been put on the queues. A handler may listen, remove, and commit. Throws
  /// what the query itself would throw; an error that comes later ends the listening, and the handler is told it.
  public func listen(
    to query: StructuredQuery, on queue: DispatchQueue, _ handler: @escaping LiveHandler
  ) throws(DocumentStoreError) -> LiveRegistration {
    try query.check()
    return try live.listen(query, LiveListener(queue, handler))
  }

  /// The same, for those whose deliveries wait somewhere else; one after the other.
  package func listen(
    to query: StructuredQuery, enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    _ handler: @escaping LiveHandler
  ) throws(DocumentStoreError) -> LiveRegistration {
    try query.check()
    return try live.listen(query, LiveListener(enqueue: enqueue, handler))
  }
}

extension DocumentStore {
  /// Whether `listen` returns without having an index made: somebody listens to the same, or none is missing. Somebody
  /// else may change that at once.
  package func isReady(toListenTo query: StructuredQuery) throws(DocumentStoreError) -> Bool {
    if live.isListening(to: query) { return true }
    return try isReady(query)
  }

  /// Returns when what has been committed is on the queues of all listeners that it concerns.
  package func waitForFollowing() { live.wait() }
}

extension DocumentStore: LiveSource {
  func answer(_ query: StructuredQuery) throws(DocumentStoreError) -> LiveAnswer {
    let (documents, done) = try run(query, checks: false) { run throws(DocumentStoreError) in
      try run.documents()
    }
    return LiveAnswer(documents: documents, done)
  }

  func answerAtOnce(_ query: StructuredQuery) throws(DocumentStoreError) -> LiveAnswer? {
    let ready = try runReady(query, checks: false) { run throws(DocumentStoreError) in try run.documents() }
    if let (documents, done) = ready { return LiveAnswer(documents: documents, done) }
    let found = try runWithWhatThereIs(query) { run throws(DocumentStoreError) in try run.documents() }
    return found.map { LiveAnswer(documents: $0.result, $0.done, lacksIndex: createsIndexes) }
  }

  func later(_ body: @escaping @Sendable () -> Void) { Self.refills.async(execute: body) }

  func pin(_ indexes: [IndexDefinition]) { self.indexes.pin(indexes) }

  func unpin(_ indexes: [IndexDefinition]) { self.indexes.unpin(indexes) }

  func makeIndexes(for query: StructuredQuery, then body: @escaping @Sendable () -> Void) {
    guard case .inBackground = options.maintenance else { return }
    Self.refills.async { [weak self] in
      if let self, let first = try? query.limited(to: .first(1)) {
        _ = try? run(first, checks: false) { run throws(DocumentStoreError) in try run.documents() }
      }
      body()
    }
  }

  /// For what live queries lack.
  static let refills = DispatchQueue(label: "dugout.live.indexes", qos: .utility)
}

extension LiveAnswer {
  fileprivate init(documents: [StoredDocument], _ done: DocumentStore.Done, lacksIndex: Bool = false) {
    self.init(
      documents: documents, position: done.position, indexes: done.plan.indexes, lacksIndex: lacksIndex)
  }
}
