// Closes a batch whose request was lost, so that the request has no effect if it still arrives.
//
//   accepted       the answer is the outcome of the batch
//   not accepted   the number of the batch is accepted without writes. The writes are then other ones under
//                  the number of an accepted batch, and are refused

internal import DocumentStore
package import OfflineSync

extension WriteLedger {
  /// The state of a batch from here on.
  package enum ClosedBatch: Sendable {
    case applied(Answer)
    /// The batch was never applied, and never will be.
    case closed
  }

  /// Closes a batch without waiting. Its writes are not looked at. `done` is called within this call, or
  /// later on another thread.
  package func close(
    _ write: RemoteWrite, as user: String?, connection: UInt64? = nil,
    done: @escaping @Sendable (Result<ClosedBatch, RemoteError>) -> Void
  ) {
    let run: RunName
    do throws(RemoteError) { run = try checked(write, as: user) } catch { return done(.failure(error)) }
    inTurn(
      [run.path], { [self] () throws(RemoteError) in try closing(write, run) },
      client: CommitClient(user: user, connection: connection), done: done)
    removeExpiredLater()
  }

  private func closing(_ write: RemoteWrite, _ run: RunName) throws(RemoteError) -> LedgerStep<ClosedBatch> {
    let known = try record(of: run)
    if let known, known.accepted.contains(write.id.batch) {
      return .finished(try closed(write, known: known))
    }
    let open = try admitted(write, run, known: known)
    var empty = write
    (empty.mutations, empty.guards) = ([], [:])
    switch commit(empty, run, continuing: open, digest: Self.digestOfNothing) {
    case .finished: return .finished(.closed)
    case .commit(let commit, let then):
      return .commit(commit) { outcome in then(outcome).map { _ in .closed } }
    }
  }

  /// The state of a batch that was accepted, or closed before.
  private func closed(_ write: RemoteWrite, known: RunRecord) throws(RemoteError) -> ClosedBatch {
    // Without the digest, it is not known whether the batch had writes.
    guard let digest = known.digest(of: write.id.batch) else { throw .outcomeUnknown }
    guard digest != Self.digestOfNothing else { return .closed }
    guard let outcome = known.outcome(of: write.id.batch) else {
      return .applied(Self.droppedOutcome(of: write, known))
    }
    return .applied(raised((version: outcome.time, results: outcome.results)))
  }

  private static let digestOfNothing = KeptOutcome.digest(of: [])
}
