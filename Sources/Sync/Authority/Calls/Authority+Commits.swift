// Commits of clients that bring no batch number.

internal import Dispatch
package import DocumentStore
package import OfflineSync

extension Authority {
  /// The time of a commit and the results of its mutations, as clients are told them.
  package typealias Committed = (version: SnapshotVersion, results: [WriteResult])

  /// Commits writes. Repeated calls commit repeatedly, because these writes have no batch number to
  /// recognise them by.
  package func commit(_ mutations: [Mutation], as user: String?) throws(RemoteError) -> Committed {
    try checkWrite(mutations, as: user)
    let outcome = try backend.commit(life.commit(of: mutations))
    tellTime()
    return committed(outcome)
  }

  /// Starts a commit without waiting, and calls `done` later on another thread.
  package func commit(
    _ mutations: [Mutation], as user: String?,
    _ done: @escaping @Sendable (Result<Committed, RemoteError>) -> Void
  ) {
    do throws(RemoteError) { try checkWrite(mutations, as: user) } catch {
      return DispatchQueue.global().async { done(.failure(error)) }
    }
    var commit = life.commit(of: mutations)
    commit.client = CommitClient(user: user)
    backend.commit(commit) { [self] outcome in
      done(outcome.map { committed($0) })
      tellTime()
    }
  }

  /// Commits the writes of a transaction if what it has read still holds. Returns nil without writes.
  package func commit(
    _ mutations: [Mutation], of transaction: any BackendTransaction, as user: String?
  ) throws(RemoteError) -> Committed? {
    try checkWrite(mutations, as: user)
    guard let outcome = try transaction.commit(try stored(mutations, transaction), recording: nil) else {
      return nil
    }
    tellTime()
    return committed(outcome)
  }

  /// The mutations with the update times that the store has.
  private func stored(
    _ mutations: [Mutation], _ transaction: any BackendTransaction
  ) throws(RemoteError) -> [Mutation] {
    guard life.isNamed(in: mutations) else { return mutations }
    let paths = mutations.map(\.path)
    var documents: [DocumentPath: StoredDocument] = [:]
    for record in try transaction.documents(at: paths) {
      if let document = record?.document { documents[document.path] = document }
    }
    return try life.asStored(mutations) { documents[$0] }
  }

  // MARK: Results

  private func committed(_ outcome: CommitOutcome) -> Committed {
    (life.raised(SnapshotVersion(outcome.time)), results(of: outcome))
  }

  /// The results of a commit as a client is told them.
  package func results(of outcome: CommitOutcome) -> [WriteResult] {
    outcome.writes.map { write in
      WriteResult(
        version: write.updateTime.map { life.raised(SnapshotVersion($0)) } ?? .none,
        transformResults: write.transformResults,
        versionBefore: write.previousUpdateTime.map { life.raised(SnapshotVersion($0)) }
          ?? SnapshotVersion.none
      )
    }
  }
}
