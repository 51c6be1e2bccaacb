// Attempts of transactions that may be made again.

internal import ByteStore
internal import DocumentStore

/// Remembers the attempts that have ended without a commit, as far as `retry_transaction` needs them: the
/// last ones of a database.
final class EndedAttempts: Sendable {
  struct Attempt: Sendable {
    let user: String?
    /// The age of the first attempt.
    let age: UInt64
    /// The documents that the attempt has tried to write. Empty if they are many.
    let writes: [DocumentPath]
  }

  /// The number of attempts that are remembered.
  static let countMax = 1000
  private static let writesMax = 100

  private struct State {
    var attempts: [TransactionID: Attempt] = [:]
    /// The ids in the order of the ends, as a ring.
    var order: [TransactionID] = []
    var oldest = 0
  }

  private let state = Locked(State())

  func add(_ id: TransactionID, of user: String?, age: UInt64, writes: [DocumentPath] = []) {
    let attempt = Attempt(user: user, age: age, writes: writes.count <= Self.writesMax ? writes : [])
    state.withLock { state in
      guard state.attempts.updateValue(attempt, forKey: id) == nil else { return }
      if state.order.count < Self.countMax {
        state.order.append(id)
      } else {
        state.attempts[state.order[state.oldest]] = nil
        state.order[state.oldest] = id
        state.oldest = (state.oldest + 1) % Self.countMax
      }
    }
  }

  /// The attempt with an id, if it was one of this user and is still known.
  func attempt(_ id: TransactionID, of user: String?) -> Attempt? {
    state.withLock { state in
      guard let attempt = state.attempts[id], attempt.user == user else { return nil }
      return attempt
    }
  }
}
