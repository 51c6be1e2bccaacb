// Runs a query once.

import DocumentStore
private import Foundation
import OfflineSync

extension Query {
  /// Runs the query once. `completion` runs on the callback queue.
  public func getDocuments(completion: @escaping (QuerySnapshot?, (any Error)?) -> Void) {
    getDocuments(source: .default, completion: completion)
  }

  /// Runs the query once on `source`. `completion` runs on the callback queue.
  public func getDocuments(
    source: FirestoreSource, completion: @escaping (QuerySnapshot?, (any Error)?) -> Void
  ) {
    reportLateMisuse()
    read(source.readSource, through: firestore.client(), done: firestore.delivering(to: completion))
  }

  func read(
    _ source: ReadSource, through client: any FirestoreClient, done: @escaping Answer<QuerySnapshot>
  ) {
    let query = Result { try runnable }
    client.read(done) { [self] write in
      QuerySnapshot(self, try await client.documents(try query.get(), source: source, after: write))
    }
  }

  /// Runs the query on the caller's thread. Moves to another thread if earlier writes are still in progress
  /// or if an index has to be created first.
  @discardableResult
  nonisolated(nonsending)
    public func getDocuments(source: FirestoreSource = .default) async throws -> QuerySnapshot
  {
    try await startReading(source).snapshot()
  }

  /// A read that sees the writes issued before it, and does not wait for later writes.
  private struct Read: Sendable {
    var query: Query
    var client: any FirestoreClient
    var structured: StructuredQuery
    var source: ReadSource
    var lastWrite: UInt64

    nonisolated(nonsending) func snapshot() async throws -> QuerySnapshot {
      QuerySnapshot(
        query, try await client.documents(structured, source: source, after: lastWrite))
    }
  }

  private func startReading(_ source: FirestoreSource) throws -> Read {
    let client = firestore.client()
    return Read(
      query: self, client: client, structured: try runnable, source: source.readSource,
      lastWrite: client.lastIssuedWrite)
  }
}
