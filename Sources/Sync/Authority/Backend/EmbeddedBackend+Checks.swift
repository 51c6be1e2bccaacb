// Commits that depend on documents which they read.

internal import ByteStore
internal import DocumentStore
internal import OfflineSync

extension EmbeddedBackend {
  private static let attemptsMax = 5

  /// Commits in a transaction that has read what the check asked for. Tries again if a document was changed.
  func commit(_ commit: BackendCommit, after check: BackendCheck) throws(RemoteError) -> CommitOutcome {
    let attempts = StoreTransactionAttempts(of: store)
    defer { attempts.end() }
    var attempt = 1
    while true {
      let transaction = try translating { () throws(DocumentStoreError) in try attempts.begin() }
      defer { transaction.end() }
      do throws(RemoteError) {
        return try self.commit(commit, after: check, in: transaction)
      } catch {
        guard error.code == .aborted, attempt < Self.attemptsMax else { throw error }
      }
      transaction.end()
      attempt += 1
      try translating { () throws(DocumentStoreError) in try attempts.wait(beforeAttempt: attempt) }
    }
  }

  private func commit(
    _ commit: BackendCommit, after check: BackendCheck, in transaction: StoreTransaction
  ) throws(RemoteError) -> CommitOutcome {
    let mutations = try check.decide { path throws(RemoteError) in
      try translating { () throws(DocumentStoreError) in try transaction.document(at: path) }
    }
    do throws(DocumentStoreError) {
      for mutation in mutations { try transaction.write(mutation) }
      if let outcome = try transaction.commit(recording: commit.recording) { return outcome }
      // Without mutations, all reads are from one snapshot and hold there.
      return try store.commit([], recording: commit.recording)
    } catch {
      throw RemoteError(ofCommit: error)
    }
  }
}
