// Listening to queries.

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
}

extension DocumentStore {
  /// Returns when what has been committed is on the queues of all listeners that it concerns.
  package func waitForFollowing() { live.wait() }
}

extension DocumentStore: LiveSource {
  func answer(
    _ query: StructuredQuery
  ) throws(DocumentStoreError) -> (documents: [StoredDocument], position: UInt64) {
    let (documents, done) = try run(query) { run throws(DocumentStoreError) in try run.documents() }
    return (documents, done.position)
  }
}
