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
    /// Reads one snapshot, which is taken by its first read. The commit succeeds only if all reads would
    /// still give the same results.
    case readWrite(TransactionLocks, open: @Sendable () throws(RemoteError) -> any BackendTransaction)
  }

  let id: TransactionID
  let kind: Kind
  /// Held while the transaction reads or commits.
  private let turn = Locked(Turn())

  private struct Turn {
    var isEnded = false
    /// The transaction from its first read on.
    var transaction: (any BackendTransaction)?
  }

  init(_ id: TransactionID, _ kind: Kind) {
    self.id = id
    self.kind = kind
  }

  deinit { end() }

  static let closed = RemoteError(.invalidArgument, "Transaction is invalid or closed.")

  /// The locks of a transaction that can write.
  var locks: TransactionLocks? { if case .readWrite(let locks, _) = kind { locks } else { nil } }

  /// Runs a step of the transaction. Throws if the transaction has ended.
  func read<Result>(
    _ step: (any BackendSnapshot) throws(RemoteError) -> Result
  ) throws(RemoteError) -> Result {
    try turn.withLock { turn throws(RemoteError) in
      guard !turn.isEnded else { throw Self.closed }
      switch kind {
      case .readOnly(let shared): return try step(shared.snapshot)
      case .readWrite(_, let open):
        if let transaction = turn.transaction { return try step(transaction) }
        let transaction = try open()
        turn.transaction = transaction
        return try step(transaction)
      }
    }
  }

  /// Ends the transaction, except for its locks and for what it has read, which the caller commits or closes.
  /// Returns nil if it has read nothing.
  func takeForCommit() throws(RemoteError) -> (any BackendTransaction)? {
    try turn.withLock { turn throws(RemoteError) in
      guard !turn.isEnded else { throw Self.closed }
      turn.isEnded = true
      return turn.transaction.take()
    }
  }

  /// Ends the transaction without writing.
  func end() {
    let transaction = turn.withLock { turn in
      turn.isEnded = true
      return turn.transaction.take()
    }
    transaction?.close()
    locks?.end()
  }
}
