// A consistent view of all documents of a backend.

package import DocumentStore
package import OfflineSync

/// All documents at one point in time. Keeps the data of that time until `close`.
package protocol BackendSnapshot: AnyObject, Sendable {
  /// The time of the last commit that the view includes.
  var version: SnapshotVersion { get }

  /// The documents at the paths, in the order of the paths; nil for each that does not exist.
  func documents(at paths: [DocumentPath]) throws(RemoteError) -> [DocumentRecord?]

  /// Calls `body` with each document of the result in order, until `body` returns false.
  func forEach(_ query: StructuredQuery, _ body: (DocumentRecord) -> Bool) throws(RemoteError)

  /// Computes aggregates over the result of a query, one value per aggregate.
  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(RemoteError) -> [StoredValue]

  func close()
}

/// A snapshot whose reads a later commit validates.
package protocol BackendTransaction: BackendSnapshot {
  /// Commits mutations if every read would still give the same result, and ends the transaction. Throws
  /// `aborted` otherwise. Without mutations, the result is nil and nothing is validated, because all reads
  /// are from one snapshot.
  func commit(_ mutations: [Mutation], recording: CommitRecord?) throws(RemoteError) -> CommitOutcome?
}
