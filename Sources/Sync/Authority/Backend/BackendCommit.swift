// The request of a commit, and positions in the history of commits.

package import DocumentStore
package import OfflineSync

/// Mutations that are applied together or not at all.
package struct BackendCommit: Sendable {
  package var mutations: [Mutation]
  /// A document about the outcome of this commit, which becomes a part of it.
  package var recording: CommitRecord?
  /// Decides about the commit with documents as they are at the commit.
  package var check: BackendCheck?
  /// A transaction that ends with this commit. The commit is refused with `aborted` unless every read of the
  /// transaction would still give the same result. A commit with a transaction has no check.
  package var transaction: (any BackendTransaction)?
  /// Whose commit this is. The commits of one client do not make those of others wait for long.
  package var client = CommitClient()

  package init(_ mutations: [Mutation], recording: CommitRecord? = nil, check: BackendCheck? = nil) {
    self.mutations = mutations
    self.recording = recording
    self.check = check
  }
}

/// The client of a commit: a connection, or a user where the connection is not known. Without either, the
/// client is not known, and perhaps one of many.
package struct CommitClient: Hashable, Sendable {
  private let user: String?
  private let connection: UInt64?

  var isKnown: Bool { user != nil || connection != nil }

  package init(user: String? = nil, connection: UInt64? = nil) {
    self.user = connection == nil ? user : nil
    self.connection = connection
  }
}

/// A decision that is a part of a commit: preconditions of further documents, or access rules that read
/// documents. The documents that it has read are unchanged when the commit is applied.
package struct BackendCheck: Sendable {
  /// Returns a document as it is at the commit; nil if it does not exist.
  package typealias Read = (DocumentPath) throws(RemoteError) -> StoredDocument?

  /// The documents that `decide` reads, as far as they are known. A backend may fetch them together.
  package var reads: [DocumentPath]
  /// Returns the mutations to apply, or throws the error with which the commit is refused. Called again if a
  /// document that it has read was changed before the commit. It must not use the backend, except by `read`.
  package var decide: @Sendable (_ read: Read) throws(RemoteError) -> [Mutation]

  package init(
    _ reads: [DocumentPath], decide: @escaping @Sendable (_ read: Read) throws(RemoteError) -> [Mutation]
  ) {
    self.reads = reads
    self.decide = decide
  }
}

/// A position in the history of a backend.
package struct BackendMark: Hashable, Sendable {
  package var position: FeedPosition
  /// The time of the last commit up to this position. It tells histories apart that have equal positions.
  package var time: SnapshotVersion

  package init(_ position: FeedPosition, _ time: SnapshotVersion) {
    self.position = position
    self.time = time
  }

  /// The mark before all commits.
  package static let start = BackendMark(.start, .none)
}

/// A part of the history.
package struct BackendChanges: Sendable {
  /// The commits in order; empty if there are none yet.
  package var commits: [FeedCommit]
  /// The mark after the last of these commits.
  package var end: BackendMark

  package init(_ commits: [FeedCommit], end: BackendMark) {
    self.commits = commits
    self.end = end
  }
}
