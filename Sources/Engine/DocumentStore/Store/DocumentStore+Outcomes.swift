// Commits whose results the caller needs.

extension DocumentStore {
  /// Commits like `commit`, and returns the results of the mutations. The commit also writes the record.
  @discardableResult
  package func commit(
    _ mutations: [Mutation], recording record: CommitRecord?
  ) throws(DocumentStoreError) -> CommitOutcome {
    try finishCommit(try beginCommit(mutations, recording: record))
  }

  /// Starts a commit like `begin`. A server begins commits in one thread and finishes them in another, so
  /// that commits share a sync without a thread for each of them. The caller must pass the result to
  /// `finishCommit`.
  package func beginCommit(
    _ mutations: [Mutation], recording record: CommitRecord?, durability: StoreDurability? = nil
  ) throws(DocumentStoreError) -> OutcomeInProgress {
    let terms = CommitTerms(durability: durability, outcome: .init(record: record))
    return OutcomeInProgress(commit: try pipeline.begin(mutations, terms))
  }

  /// Returns the results once the commit is durable and visible. Throws if it was refused; neither the
  /// mutations nor the record are then written.
  @discardableResult
  package func finishCommit(_ inProgress: OutcomeInProgress) throws(DocumentStoreError) -> CommitOutcome {
    defer { inProgress.transaction?.didFinish() }
    return try finished(inProgress.commit).outcome
  }
}

/// A commit that has its place in the order, and whose results are collected.
package struct OutcomeInProgress: Sendable {
  fileprivate let commit: CommitInProgress
  /// The transaction of the commit, whose reads are kept until the commit has ended.
  fileprivate let transaction: StoreTransaction?

  init(commit: CommitInProgress, transaction: StoreTransaction? = nil) {
    self.commit = commit
    self.transaction = transaction
  }

  /// The commit's time, unless it has to be resolved again.
  package var time: StoredTimestamp { commit.time }
}

extension CommitInProgress {
  /// The results of the mutations, if they are collected.
  var outcome: CommitOutcome { CommitOutcome(time: time, writes: writes) }
}
