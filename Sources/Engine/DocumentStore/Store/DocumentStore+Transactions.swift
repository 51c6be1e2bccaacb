// Runs transactions and retries them after conflicts.

import Libc

extension DocumentStore {
  /// The default number of attempts.
  public static let transactionAttempts = 5

  /// Runs `body`, which must read first and then write, and commits its writes. If a concurrent commit
  /// changed data that `body` has read, nothing is written and `body` runs again. It runs at most
  /// `maxAttempts` times.
  ///
  /// Transactions are serializable: reads and writes take effect at one point in the commit order. A
  /// transaction that has lost a race waits for its turn before it runs again, up to 60 seconds over all
  /// attempts. Its turn ends with the transaction, or after 5 seconds if others wait. `body` must not run
  /// another transaction on the same documents.
  ///
  /// Throws `aborted` after the last attempt or if the waiting time is used up, any error of `body`, and
  /// `CancellationError` if the task is cancelled before the commit. A cancelled task notices that when its
  /// turn comes. A read or write in `body` may throw `aborted` too. The attempt has then ended, and `body`
  /// runs again even if it throws another error instead.
  public func transaction<Result>(
    maxAttempts: Int = transactionAttempts, _ body: (StoreTransaction) throws -> Result
  ) throws -> Result {
    guard (1...Int(Int32.max)).contains(maxAttempts) else {
      throw DocumentStoreError.invalidArgument("Invalid maxAttempts: \(maxAttempts)")
    }
    let attempts = StoreTransactionAttempts(of: self)
    defer { attempts.end() }
    var attempt = 1
    while true {
      try Task.checkCancellation()
      let transaction = try attempts.begin()
      defer { transaction.end() }
      do {
        let result = try body(transaction)
        try Task.checkCancellation()
        try transaction.commit()
        return result
      } catch {
        // If the store ended the attempt, `body` may have thrown another error because of that.
        let cause = error is CancellationError ? error : transaction.failure ?? error
        guard let reason = cause as? DocumentStoreError, reason.isRetryable, attempt < maxAttempts
        else { throw cause }
        transaction.end()
        attempt += 1
        try attempts.wait(beforeAttempt: attempt)
      }
    }
  }

  /// Begins a single attempt, for callers that run the code of the transaction themselves. It never waits for
  /// other transactions. The attempt ends with `commit()`, with `end()`, or when its last reference is
  /// released.
  public func beginTransaction() throws(DocumentStoreError) -> StoreTransaction {
    try StoreTransaction(of: self)
  }

  /// Waits until the conflicting commits are visible to the next attempt of a transaction without locks.
  /// Later attempts also wait for a random time, so that transactions that keep conflicting diverge.
  package func waitBeforeAttempt(_ attempt: Int) {
    pipeline.waitForCommitsInProgress()
    guard attempt > 2 else { return }
    usleep(UInt32.random(in: 0..<(100 << min(UInt32(attempt), 10))))
  }
}

extension DocumentStoreError {
  /// True if a retry of the transaction may succeed.
  package var isRetryable: Bool {
    switch self {
    case .aborted, .alreadyExists, .failedPrecondition: true
    case .invalidArgument, .notFound, .feedTruncated, .notAStore, .unsuitableDirectory, .locked, .newerFormat,
      .corrupted, .memoryExceeded, .full, .failed, .outcomeUnknown, .closed:
      false
    }
  }
}
