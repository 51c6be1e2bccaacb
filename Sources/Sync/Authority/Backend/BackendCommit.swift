// The request of a commit, and positions in the history of commits.

package import DocumentStore
package import OfflineSync

/// Mutations that are applied together or not at all.
package struct BackendCommit: Sendable {
  package var mutations: [Mutation]
  /// A document about the outcome of this commit, which becomes a part of it.
  package var recording: CommitRecord?

  package init(_ mutations: [Mutation], recording: CommitRecord? = nil) {
    self.mutations = mutations
    self.recording = recording
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
