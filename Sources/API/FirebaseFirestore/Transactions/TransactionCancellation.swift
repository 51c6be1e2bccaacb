// Ends a transaction early if its task is cancelled.

import ByteStore

/// Whether the task of a transaction was cancelled. Any thread may use it.
final class TransactionCancellation: Sendable {
  private struct State {
    var isCancelled = false
    /// The attempts whose wait the cancellation ends.
    var attempts: (any TransactionAttempts)?
  }

  private let state = Locked(State())

  /// Throws `cancelled` if the task was cancelled.
  func check() throws {
    guard state.withLock({ $0.isCancelled }) else { return }
    throw FirestoreErrors.make(.cancelled, "The task of the transaction was cancelled before its commit.")
  }

  func cancel() {
    let attempts = state.withLock { state in
      state.isCancelled = true
      return state.attempts
    }
    attempts?.cancel()
  }

  /// Lets a cancellation, now or later, end the wait of these attempts.
  func begin(_ attempts: any TransactionAttempts) {
    let isCancelled = state.withLock { state in
      state.attempts = attempts
      return state.isCancelled
    }
    if isCancelled { attempts.cancel() }
  }

  /// Releases the attempts.
  func end() { state.withLock { $0.attempts = nil } }
}
