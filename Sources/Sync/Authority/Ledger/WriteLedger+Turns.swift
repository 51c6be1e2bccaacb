// How a call of the ledger runs in its turn, with or without a thread that waits.

internal import ByteStore
internal import Dispatch
internal import DocumentStore
internal import OfflineSync

/// The result of the reads of a call in its turn.
enum LedgerStep<Value: Sendable>: Sendable {
  case finished(Value)
  /// The call has to commit before it has its value.
  case commit(
    BackendCommit, then: @Sendable (Result<CommitOutcome, RemoteError>) -> Result<Value, RemoteError>)
}

extension WriteLedger {
  /// Runs a step and its commit while no other call has the documents.
  func inTurn<Value>(
    _ paths: Set<DocumentPath>, _ step: () throws(RemoteError) -> LedgerStep<Value>
  ) throws(RemoteError) -> Value {
    try turns.during(paths) { () throws(RemoteError) in
      switch try step() {
      case .finished(let value): return value
      case .commit(let commit, let then):
        return try then(Result { () throws(RemoteError) in try backend.commit(commit) }).get()
      }
    }
  }

  /// Runs a step and its commit while no other call has the documents. No thread waits for the turn or for
  /// the commit. `done` is called within this call, or later on another thread.
  func inTurn<Value>(
    _ paths: Set<DocumentPath>, _ step: @escaping @Sendable () throws(RemoteError) -> LedgerStep<Value>,
    client: CommitClient, done: @escaping @Sendable (Result<Value, RemoteError>) -> Void
  ) {
    let isAccepted = turns.begin(paths) { [backend] turn in
      let found = Result { () throws(RemoteError) in try step() }
      switch found {
      case .failure(let error):
        turn.end()
        done(.failure(error))
      case .success(.finished(let value)):
        turn.end()
        done(.success(value))
      case .success(.commit(var commit, let then)):
        commit.client = client
        backend.commit(commit) { outcome in
          turn.end()
          done(then(outcome))
        }
      }
    }
    guard !isAccepted else { return }
    done(.failure(.tooManyTurns))
  }
}
