// Commits that depend on documents which they read.

internal import ByteStore
internal import DocumentStore
internal import OfflineSync

extension EmbeddedBackend {
  private static let attemptsMax = 5

  /// Commits in a transaction that has read what the check asked for. Tries again if a document was changed.
  static func commit(
    _ commit: BackendCommit, after check: BackendCheck, in store: DocumentStore
  ) throws(RemoteError) -> CommitOutcome {
    let attempts = StoreTransactionAttempts(of: store)
    defer { attempts.end() }
    var attempt = 1
    while true {
      let transaction = try translating { () throws(DocumentStoreError) in try attempts.begin() }
      defer { transaction.end() }
      do throws(RemoteError) {
        return try self.commit(commit, after: check, in: transaction, of: store)
      } catch {
        guard error.code == .aborted, attempt < attemptsMax else { throw error }
      }
      transaction.end()
      attempt += 1
      try translating { () throws(DocumentStoreError) in try attempts.wait(beforeAttempt: attempt) }
    }
  }

  private static func commit(
    _ commit: BackendCommit, after check: BackendCheck, in transaction: StoreTransaction,
    of store: DocumentStore
  ) throws(RemoteError) -> CommitOutcome {
    let begun = try begin(commit, after: check, in: transaction, of: store)
    do throws(DocumentStoreError) { return try store.finishCommit(begun) } catch {
      throw RemoteError(ofCommit: error)
    }
  }

  /// Starts the first attempt of a commit with a check. It fails with `aborted`, here or when it is finished,
  /// if a document was changed that the check has read.
  static func begin(
    _ commit: BackendCommit, after check: BackendCheck, in store: DocumentStore
  ) throws(RemoteError) -> OutcomeInProgress {
    let transaction = try translating { () throws(DocumentStoreError) in try store.beginTransaction() }
    defer { transaction.end() }
    return try begin(commit, after: check, in: transaction, of: store)
  }

  private static func begin(
    _ commit: BackendCommit, after check: BackendCheck, in transaction: StoreTransaction,
    of store: DocumentStore
  ) throws(RemoteError) -> OutcomeInProgress {
    let mutations = try check.decide { path throws(RemoteError) in
      try translating { () throws(DocumentStoreError) in try transaction.document(at: path) }
    }
    do throws(DocumentStoreError) {
      try transaction.add(mutations)
      if let begun = try transaction.beginCommit(recording: commit.recording) { return begun }
      // Without mutations, all reads are from one snapshot and hold there.
      return try store.beginCommit([], recording: commit.recording)
    } catch {
      throw RemoteError(ofCommit: error)
    }
  }
}
