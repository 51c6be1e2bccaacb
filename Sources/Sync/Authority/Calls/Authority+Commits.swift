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
    let outcome =
      life.isNamed(in: mutations)
      ? try commitToFloor(mutations) : try backend.commit(BackendCommit(mutations))
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
    guard !life.isNamed(in: mutations) else {
      return DispatchQueue.global().async { [self] in
        done(Result { () throws(RemoteError) in committed(try commitToFloor(mutations)) })
        tellTime()
      }
    }
    backend.commit(BackendCommit(mutations)) { [self] outcome in
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

  /// Commits writes that may require the version with which all documents from before a restore are told. The
  /// store has other versions of them.
  private func commitToFloor(_ mutations: [Mutation]) throws(RemoteError) -> CommitOutcome {
    do throws(DocumentStoreError) {
      if let outcome = try life.commit(mutations) { return outcome }
    } catch {
      throw RemoteError(ofCommit: error)
    }
    // There is no outcome only if there are no mutations.
    return try backend.commit(BackendCommit(mutations))
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
    return try translating { () throws(DocumentStoreError) in
      try life.asStored(mutations) { documents[$0] }
    }
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
