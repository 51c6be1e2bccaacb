// The state that a client keeps for each query that it watches.

package import DocumentStore

/// The persistent state of a target, which the next listener of the same query reuses.
package struct StoredTarget: Sendable, Equatable {
  package let id: TargetID
  /// The canonical text of the query as it is sent.
  package let text: String
  /// The sequence number of the last use; the target with the lowest number is evicted first.
  package var sequence: Int64
  /// The version up to which the query's result is complete.
  package var version: SnapshotVersion = .none
  /// The version at which the remote last confirmed all documents of the target.
  package var limboFreeVersion: SnapshotVersion = .none
  package var resumeToken: [UInt8] = []
  /// The time up to which a bundle contained all changes; used if there is no token.
  package var readTime: SnapshotVersion = .none
}

/// A target that is watched or is to be watched.
package struct TargetData: Sendable, Equatable {
  package let id: TargetID
  package let query: StructuredQuery
  package var purpose = WatchTarget.Purpose.listen
  package var version: SnapshotVersion = .none
  package var resumeToken: [UInt8] = []
  package var readTime: SnapshotVersion = .none

  package init(_ id: TargetID, _ query: StructuredQuery, purpose: WatchTarget.Purpose = .listen) {
    self.id = id
    self.query = query
    self.purpose = purpose
  }

  package init(_ stored: StoredTarget, _ query: StructuredQuery) {
    self.init(stored.id, query.executableForm)
    version = stored.version
    resumeToken = stored.resumeToken
    readTime = stored.readTime
  }

  /// The document of the target if it watches a single document.
  package var document: DocumentPath? {
    if case .document(let path) = query.scope, query.filters.isEmpty { path } else { nil }
  }
}
