// Runs transactions.

private import DocumentStore
import FirebaseCore
public import Foundation
private import OfflineSync

#if !canImport(ObjectiveC)
/// The type of the block's error argument. The block reports an error with `errorPointer?.pointee = error`.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?
#endif

extension Firestore {
  /// Runs `updateBlock` and commits its writes. The block must read all documents before its first write. If
  /// another commit has changed a document that the block read, nothing is written and the block runs again,
  /// up to five times.
  ///
  /// Without a remote, a transaction that has lost such a race waits for its turn before it runs again, up to
  /// 60 seconds in total. The oldest transaction is first. A turn ends with its transaction, or after 5
  /// seconds if others wait. The block must not wait for another transaction on the same documents. When the
  /// time is used up or the instance is terminated, a waiting transaction fails with `aborted`.
  ///
  /// The block runs on an internal queue. It ends the transaction by setting the error. If the error has one
  /// of this module's codes for transient errors, the block runs again. Without a remote, it also runs again
  /// if one of its reads has failed with `aborted` and the block sets another error. `completion` receives
  /// the block's result or the error on the callback queue.
  public func runTransaction(
    _ updateBlock: @escaping (Transaction, NSErrorPointer) -> Any?,
    completion: @escaping (Any?, (any Error)?) -> Void
  ) {
    unsafe runTransaction(with: nil, block: updateBlock, completion: completion)
  }

  /// Runs the block again after each conflict, up to the number of attempts in `options`.
  public func runTransaction(
    with options: TransactionOptions?,
    block: @escaping (Transaction, NSErrorPointer) -> Any?,
    completion: @escaping (Any?, (any Error)?) -> Void
  ) {
    let run = unsafe TransactionRun(self, options, Self.throwing(block))
    run.begin(delivering { (result: Transferred<Any?>?, error) in completion(result?.value ?? nil, error) })
  }

  /// Runs the block again after each conflict, up to five times, and returns the block's result.
  ///
  /// If the task is cancelled before the commit begins, nothing is written, and the transaction fails with
  /// `cancelled`. Without a remote, a cancellation also ends the wait for the transaction's turn.
  nonisolated(nonsending)
    public func runTransaction(
      _ updateBlock: @escaping (Transaction, NSErrorPointer) -> sending Any?
    ) async throws -> sending Any?
  {
    let run = unsafe TransactionRun(self, nil, Self.throwing(updateBlock))
    // This is safe, because the block no longer uses the value that it returned.
    nonisolated(unsafe) let value = try await run.result().value
    return unsafe value
  }

  /// Converts the block into one that throws the error it sets.
  private static func throwing(
    _ block: @escaping (Transaction, NSErrorPointer) -> Any?
  ) -> (Transaction) throws -> Any? {
    { transaction in
      var failure: NSError?
      let result = unsafe block(transaction, &failure)
      if let failure { throw failure }
      return result
    }
  }
}

/// A transaction with all its attempts.
private struct TransactionRun: @unchecked Sendable {
  // Unchecked, because the user's block is not `Sendable`. Only one thread at a time runs it.
  private let firestore: Firestore
  private let maxAttempts: Int
  private let block: (Transaction) throws -> Any?
  private let client: Result<any FirestoreClient, any Error>
  private let lastWrite: UInt64
  private let cancellation = TransactionCancellation()

  init(
    _ firestore: Firestore, _ options: TransactionOptions?,
    _ block: @escaping (Transaction) throws -> Any?
  ) {
    self.firestore = firestore
    self.block = block
    maxAttempts = options?.maxAttempts ?? TransactionOptions.maxAttemptsDefault
    client = Result { try firestore.livingClient() }
    lastWrite = (try? client.get().lastIssuedWrite) ?? 0
  }

  nonisolated(nonsending) func result() async throws -> Transferred<Any?> {
    try await withTaskCancellationHandler {
      try await awaitResult(begin)
    } onCancel: {
      cancellation.cancel()
    }
  }

  func begin(_ done: @escaping @Sendable (Result<Transferred<Any?>, any Error>) -> Void) {
    let client: any FirestoreClient
    do { client = try self.client.get() } catch { return done(.failure(error)) }
    client.store.work(after: lastWrite, { try result(client, $0) }, done: done)
  }

  private func result(_ client: any FirestoreClient, _ view: LocalView) throws -> Transferred<Any?> {
    let attempts = try client.beginTransactions(view)
    defer { attempts.end() }
    cancellation.begin(attempts)
    defer { cancellation.end() }
    var attempt = 1
    while true {
      do {
        return Transferred(try self.attempt(attempts.begin))
      } catch let error where Self.isRetryable(error) {
        // The attempt has committed nothing. Its error may be a consequence of the cancellation.
        try cancellation.check()
        guard attempt < maxAttempts else { throw FirestoreErrors.translate(any: error) }
        attempt += 1
        do {
          guard try attempts.wait(beforeAttempt: attempt) else { throw error }
        } catch {
          try cancellation.check()
          throw FirestoreErrors.translate(any: error)
        }
      } catch {
        throw FirestoreErrors.translate(any: error)
      }
    }
  }

  private func attempt(_ begin: () throws -> any TransactionBase) throws -> Any? {
    try cancellation.check()
    let base = try begin()
    let transaction = Transaction(firestore, base)
    defer { transaction.end() }
    let result: Any?
    do { result = try block(transaction) } catch { throw base.failure ?? error }
    transaction.finishBlock()
    try cancellation.check()
    try transaction.commit()
    return result
  }

  /// Whether another attempt may succeed. An error of the engine contains this information; for an error that
  /// the block sets, its code determines the answer.
  private static func isRetryable(_ error: any Error) -> Bool {
    if let error = error as? DocumentStoreError { return error.isRetryable }
    if case .remote(let refusal)? = error as? OfflineSyncError {
      return refusal.code.isRetryableTransaction
    }
    let error = error as NSError
    guard error.domain == FirestoreErrorDomain, let code = FirestoreErrorCode.Code(rawValue: error.code)
    else { return false }
    switch code {
    case .aborted, .alreadyExists, .failedPrecondition, .cancelled, .unknown, .deadlineExceeded,
      .resourceExhausted, .internal, .unavailable, .unauthenticated:
      return true
    case .OK, .invalidArgument, .notFound, .permissionDenied, .outOfRange, .unimplemented, .dataLoss:
      return false
    }
  }
}
