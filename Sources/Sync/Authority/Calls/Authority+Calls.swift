// The calls of clients outside the streams.

package import DocumentStore
package import OfflineSync

extension Authority {
  /// Reads documents from one snapshot.
  package func documents(
    at paths: [DocumentPath], as user: String?
  ) throws(RemoteError) -> [RemoteDocument] {
    for path in paths { try checkRead(StructuredQuery(.document(path)), as: user) }
    let snapshot = try backend.snapshot(.now)
    defer { snapshot.close() }
    return zip(paths, try snapshot.documents(at: paths)).map { path, record in
      var document =
        record.map { RemoteDocument($0.document) } ?? RemoteDocument(path, nil, version: snapshot.version)
      document.version = life.raised(document.version)
      return document
    }
  }

  /// Computes aggregates over the result of a query.
  package func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?
  ) throws(RemoteError) -> [StoredValue] {
    try checkRead(query, as: user)
    let snapshot = try backend.snapshot(.now)
    defer { snapshot.close() }
    return try snapshot.aggregate(aggregates, over: query)
  }

  /// Applies a batch of a client's queue once, however often it arrives, and returns its outcome. Returns nil
  /// if a guard does not hold.
  package func take(
    _ write: RemoteWrite, as user: String?
  ) throws(RemoteError) -> (version: SnapshotVersion, results: [WriteResult])? {
    let taken = try ledger.take(write, as: user)
    tellTime()
    return taken
  }

  /// Applies a batch like `take(_:as:)` without waiting. `done` is called within this call, or later on
  /// another thread.
  package func take(
    _ write: RemoteWrite, as user: String?, connection: UInt64? = nil,
    done: @escaping @Sendable (Result<Committed?, RemoteError>) -> Void
  ) {
    ledger.take(write, as: user, connection: connection) { [self] taken in
      done(taken)
      tellTime()
    }
  }

  /// Closes a batch whose request was lost. `done` is called within this call, or later on another thread.
  package func close(
    _ write: RemoteWrite, as user: String?, connection: UInt64? = nil,
    done: @escaping @Sendable (Result<WriteLedger.ClosedBatch, RemoteError>) -> Void
  ) {
    ledger.close(write, as: user, connection: connection) { [self] closed in
      done(closed)
      tellTime()
    }
  }

  // MARK: Rules

  /// Throws unless the user may read the result of a query. The documents of the store itself are not for
  /// clients.
  package func checkRead(_ query: StructuredQuery, as user: String?) throws(RemoteError) {
    do throws(PathError) { try query.scope.check() } catch {
      throw RemoteError(.invalidArgument, error.description)
    }
    if let refusal = rules.mayRead?(user, query) { throw refusal }
  }

  /// Throws unless the user may make the writes.
  package func checkWrite(_ mutations: [Mutation], as user: String?) throws(RemoteError) {
    for mutation in mutations {
      do throws(PathError) { try mutation.path.check() } catch {
        throw RemoteError(.invalidArgument, error.description)
      }
    }
    if let refusal = rules.refusal(of: mutations, as: user) { throw refusal }
  }
}

extension StructuredQuery.Scope {
  /// Throws unless the scope is one of users' documents.
  fileprivate func check() throws(PathError) {
    switch self {
    case .document(let path): try path.check()
    case .collection(let path): try path.check()
    case .collectionGroup(let id): _ = try CollectionPath([id])
    }
  }
}
