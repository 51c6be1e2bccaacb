// A transaction that lives across calls.

internal import Authority
internal import ByteStore
internal import DocumentStore
internal import OfflineSync

/// An open transaction. Calls may use it from several threads; its reads and its commit run one at a time.
final class OpenTransaction: Sendable {
  enum Kind: Sendable {
    /// Reads one snapshot, and writes nothing.
    case readOnly(SharedSnapshot)
    /// Reads one snapshot. The commit succeeds only if all reads would still give the same results.
    case readWrite(any BackendTransaction)
  }

  let id: TransactionID
  let kind: Kind
  /// Held while the transaction reads or commits.
  private let turn = Locked(Turn())

  private struct Turn { var isEnded = false }

  init(_ id: TransactionID, _ kind: Kind) {
    self.id = id
    self.kind = kind
  }

  deinit { end() }

  static let closed = RemoteError(.invalidArgument, "Transaction is invalid or closed.")

  /// The snapshot that the transaction reads.
  private var snapshot: any BackendSnapshot {
    switch kind {
    case .readOnly(let shared): shared.snapshot
    case .readWrite(let transaction): transaction
    }
  }

  /// Runs a step of the transaction. Throws if the transaction has ended.
  func read<Result>(
    _ step: (any BackendSnapshot) throws(RemoteError) -> Result
  ) throws(RemoteError) -> Result {
    try turn.withLock { turn throws(RemoteError) in
      guard !turn.isEnded else { throw Self.closed }
      return try step(snapshot)
    }
  }

  /// Runs a step that commits the transaction, and ends it. A transaction that only reads has nothing to
  /// commit.
  func commit(
    _ step: (any BackendTransaction) throws(RemoteError) -> CommitOutcome?
  ) throws(RemoteError) -> CommitOutcome? {
    try turn.withLock { turn throws(RemoteError) in
      guard !turn.isEnded else { throw Self.closed }
      defer { close(&turn) }
      guard case .readWrite(let transaction) = kind else { return nil }
      return try step(transaction)
    }
  }

  /// Ends the transaction without writing.
  func end() { turn.withLock { close(&$0) } }

  private func close(_ turn: inout Turn) {
    guard !turn.isEnded else { return }
    turn.isEnded = true
    // A shared snapshot ends with its last reference.
    if case .readWrite(let transaction) = kind { transaction.close() }
  }
}
