// Commit with an identity, which is applied once however often it arrives.
//
//   with writes      the batch is applied, unless it was applied before. The answer is its outcome
//   without writes   the batch is closed, unless it was applied before. It is then never applied
//
// The authority decides about the identity, as it does for batches of a write stream.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension CallContext {
  /// Begins a commit whose metadata has the identity of a batch.
  func commitOnce(
    _ bytes: [UInt8], _ text: String, to responder: Responder
  ) throws(RemoteError) -> AnswerProgress {
    let request = try responder.format.decode(Wire.CommitRequest.self, bytes, limits: wireLimits())
    guard request.transaction.isEmpty else {
      throw RemoteError(
        .invalidArgument, "A commit has a transaction or the metadata \(WriteLabels.write), and not both.")
    }
    let identity = try WriteLabels.identity(inMetadata: text)
    let database = try database(request.database)
    let write = try identity.write(try database.mutations(request.writes))
    guard !request.writes.isEmpty else { return close(write, in: database, to: responder) }
    try database.checkVerified(write.mutations)
    return .waiting { resume in
      database.waitForLocks(of: write.mutations, for: client) { error in
        // The ledger must not run on the thread that has ended the wait.
        resume { () throws(RemoteError) in
          if let error { throw error }
          return take(write, in: database, to: responder)
        }
      }
    }
  }

  private func take(
    _ write: RemoteWrite, in database: ServedDatabase, to responder: Responder
  ) -> AnswerProgress {
    .waiting { resume in
      database.authority.take(write, as: user, connection: metadata.connection) { taken in
        noteRefusal(taken)
        resume { () throws(RemoteError) in
          let named = taken.mapError { database.named($0, of: write.mutations) }
          guard let committed = try named.get() else { throw AuthorityLife.guardFailed }
          try responder.send(Wire.IdentifiedCommitResponse(committed))
          return .done
        }
      }
    }
  }

  private func close(
    _ write: RemoteWrite, in database: ServedDatabase, to responder: Responder
  ) -> AnswerProgress {
    .waiting { resume in
      database.authority.close(write, as: user, connection: metadata.connection) { closed in
        noteRefusal(closed)
        resume { () throws(RemoteError) in
          switch try closed.get() {
          case .applied(let committed): try responder.send(Wire.IdentifiedCommitResponse(committed))
          case .closed: try responder.send(Wire.IdentifiedCommitResponse.closed)
          }
          return .done
        }
      }
    }
  }

  /// Reports that the authority has refused a batch because too many wait.
  func noteRefusal(_ outcome: Result<some Any, RemoteError>) {
    switch outcome {
    case .failure(.overloaded): options.onRefusal?(.waitingCommits)
    case .failure(.tooManyTurns): options.onRefusal?(.waitingWrites)
    default: break
    }
  }
}

extension Wire.IdentifiedCommitResponse {
  fileprivate init(_ committed: ServedDatabase.Committed) {
    self.init()
    writeResults = committed.results.map { Wire.IdentifiedWriteResult($0) }
    commitTime = Wire.Timestamp(committed.version.stored)
    isIdentified = true
  }

  /// The answer about a batch that was never applied, and never will be.
  fileprivate static var closed: Self {
    var response = Self()
    (response.isIdentified, response.isClosed) = (true, true)
    return response
  }
}
