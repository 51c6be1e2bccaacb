// Commit, and the transactions around it.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension CallContext {
  func commit(_ request: Wire.CommitRequest) throws(RemoteError) -> Pending<Wire.CommitResponse> {
    let database = try database(request.database)
    let mutations = try database.mutations(request.writes)
    try database.checkVerified(mutations)
    guard request.transaction.isEmpty else {
      return try commit(mutations, in: request.transaction, of: database)
    }
    guard !mutations.isEmpty else { return try emptyCommit(of: database) }
    return { done in
      database.commit(mutations, for: client) { outcome in done(outcome.map(database.response)) }
    }
  }

  /// The response to a commit without writes, which has the time of the last commit.
  private func emptyCommit(
    of database: ServedDatabase
  ) throws(RemoteError) -> Pending<Wire.CommitResponse> {
    var response = Wire.CommitResponse()
    response.commitTime = Wire.Timestamp(try database.snapshotNow().readTime.stored)
    return { [response] done in done(.success(response)) }
  }

  private func commit(
    _ mutations: [Mutation], in id: [UInt8], of database: ServedDatabase
  ) throws(RemoteError) -> Pending<Wire.CommitResponse> {
    // The transaction stays open if its commit cannot be tried.
    try database.transactions.use(id, by: owner) { transaction throws(RemoteError) in
      guard !mutations.isEmpty else { return }
      if case .readOnly = transaction.kind {
        throw RemoteError(.invalidArgument, "Cannot modify entities in a read-only transaction.")
      }
      try database.authority.checkWrite(mutations, as: user)
    }
    guard let transaction = try database.transactions.remove(id, by: owner) else {
      throw OpenTransaction.closed
    }
    guard !mutations.isEmpty else {
      transaction.end()
      return try emptyCommit(of: database)
    }
    return { [client] done in
      do throws(RemoteError) {
        try database.commit(mutations, in: transaction, for: client) { outcome in
          done(outcome.map(database.response))
        }
      } catch {
        done(.failure(error))
      }
    }
  }

  func beginTransaction(
    _ request: Wire.BeginTransactionRequest
  ) throws(RemoteError) -> Wire.BeginTransactionResponse {
    var response = Wire.BeginTransactionResponse()
    response.transaction = try database(request.database).begin(request.options, for: owner).id.bytes
    return response
  }

  /// Ends a transaction. A transaction that has ended already is not an error.
  func rollback(_ request: Wire.RollbackRequest) throws(RemoteError) -> EmptyResponse {
    let database = try database(request.database)
    guard let transaction = try database.transactions.remove(request.transaction, by: owner) else {
      return EmptyResponse()
    }
    if let locks = transaction.locks { database.attempts.add(transaction.id, of: user, age: locks.owner.age) }
    transaction.end()
    return EmptyResponse()
  }
}

extension ServedDatabase {
  func response(_ committed: Committed) -> Wire.CommitResponse {
    var response = Wire.CommitResponse()
    response.writeResults = committed.results.map { Wire.WriteResult($0) }
    response.commitTime = Wire.Timestamp(committed.version.stored)
    return response
  }
}
