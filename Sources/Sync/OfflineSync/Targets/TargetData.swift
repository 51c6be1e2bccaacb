// What a client keeps about a query that it follows.

package import DocumentStore

/// What is known of a target, and kept for the next time that someone asks the same.
package struct StoredTarget: Sendable, Equatable {
  package let id: TargetID
  /// The query in the form in which it is run.
  package let text: String
  /// Of its last use: who was used longest ago is collected first.
  package var sequence: Int64
  /// Up to when its answer is known.
  package var version: SnapshotVersion = .none
  /// Up to when all of its documents were known to match at the remote.
  package var limboFreeVersion: SnapshotVersion = .none
  package var resumeToken: [UInt8] = []
  /// Without a token: everything up to this moment came with a bundle.
  package var readTime: SnapshotVersion = .none
}

/// A target that is followed, or that is to be.
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

  /// Its document, if it asks for one and nothing else.
  package var document: DocumentPath? {
    if case .document(let path) = query.scope, query.filters.isEmpty { path } else { nil }
  }
}
