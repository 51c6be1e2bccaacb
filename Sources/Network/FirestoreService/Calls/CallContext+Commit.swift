// Commit, and the transactions around it.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension CallContext {
  func commit(_ request: Wire.CommitRequest) throws(RemoteError) -> Wire.CommitResponse {
    let database = try database(request.database)
    let mutations = try database.mutations(request.writes)
    try database.checkVerified(mutations)
    guard request.transaction.isEmpty else {
      return try commit(mutations, in: request.transaction, of: database)
    }
    guard !mutations.isEmpty else { return try database.emptyCommit() }
    return database.response(try database.commit(mutations, as: user))
  }

  private func commit(
    _ mutations: [Mutation], in id: [UInt8], of database: ServedDatabase
  ) throws(RemoteError) -> Wire.CommitResponse {
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
    let outcome = try transaction.commit { transaction throws(RemoteError) in
      try database.commit(mutations, in: transaction)
    }
    guard let outcome else { return try database.emptyCommit() }
    return database.response(database.committed(outcome))
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
    try database(request.database).transactions.remove(request.transaction, by: owner)?.end()
    return EmptyResponse()
  }
}

extension ServedDatabase {
  /// The response to a commit without writes, which has the time of the last commit.
  fileprivate func emptyCommit() throws(RemoteError) -> Wire.CommitResponse {
    var response = Wire.CommitResponse()
    response.commitTime = Wire.Timestamp(try snapshotNow().readTime.stored)
    return response
  }

  func response(_ committed: Committed) -> Wire.CommitResponse {
    var response = Wire.CommitResponse()
    response.writeResults = committed.results.map { Wire.WriteResult($0) }
    response.commitTime = Wire.Timestamp(committed.version.stored)
    return response
  }
}
