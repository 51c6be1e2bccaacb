// Running a transaction until it can be committed.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension DocumentStore {
  /// How often a transaction is tried, unless it says otherwise.
  public static let transactionAttempts = 5

  /// Runs `body`, which reads and then writes, and commits what it wrote. If others have changed meanwhile what it
  /// read, nothing was written and it is run again from the start, `maxAttempts` times at most.
  ///
  /// Serialisable: all of it happens at one point of the order of all commits. Throws `aborted` after the last
  /// attempt, what `body` throws, and `CancellationError` if the task is cancelled before the commit.
  public func transaction<Result>(
    maxAttempts: Int = transactionAttempts, _ body: (StoreTransaction) throws -> Result
  ) throws -> Result {
    guard (1...Int(Int32.max)).contains(maxAttempts) else {
      throw DocumentStoreError.invalidArgument("Invalid maxAttempts: \(maxAttempts)")
    }
    var attempt = 1
    while true {
      try Task.checkCancellation()
      let transaction = try beginTransaction()
      defer { transaction.end() }
      do {
        let result = try body(transaction)
        try Task.checkCancellation()
        try transaction.commit()
        return result
      } catch let error as DocumentStoreError where error.isWorthAnotherAttempt && attempt < maxAttempts {
        transaction.end()
        waitBeforeAttempt(attempt + 1)
      }
      attempt += 1
    }
  }

  /// A single attempt, for those who run the code of it elsewhere. Ends with `commit()`, `end()`, or its last
  /// reference.
  public func beginTransaction() throws(DocumentStoreError) -> StoreTransaction {
    try StoreTransaction(of: self)
  }

  /// What stood in the way is to be seen by the next attempt. After that, those that meet again and again part.
  package func waitBeforeAttempt(_ attempt: Int) {
    pipeline.waitForCommitsUnderWay()
    guard attempt > 2 else { return }
    usleep(UInt32.random(in: 0..<(100 << min(UInt32(attempt), 10))))
  }
}

extension DocumentStoreError {
  /// Another attempt of the same transaction may fare better.
  package var isWorthAnotherAttempt: Bool {
    switch self {
    case .aborted, .alreadyExists, .failedPrecondition: true
    case .invalidArgument, .notFound, .feedTruncated, .notAStore, .unsuitableDirectory, .locked, .newerFormat,
      .corrupted,
      .full,
      .failed, .outcomeUnknown, .closed:
      false
    }
  }
}
