// Counting the transfers of a batch.

private import FirebaseCore

/// Calls back once: when all have ended, with the first error in the order of the batch, or when the time is up.
final class StorageTransfers: Sendable {
  private struct State: @unchecked Sendable {
    // Unchecked, because of the closure, which is called on the callback queue, once.
    var waiting: Int
    var failures: [Int: any Error] = [:]
    var completion: (((any Error)?) -> Void)?
  }

  private let state: Guarded<State>

  init(count: Int, _ completion: @escaping ((any Error)?) -> Void) {
    state = Guarded(State(waiting: count, completion: completion))
  }

  func end(_ index: Int, _ error: (any Error)?) {
    let end = state.withLock { state in
      state.waiting -= 1
      if let error { state.failures[index] = error }
      guard state.waiting == 0 else { return Handed<(((any Error)?) -> Void)?>(nil) }
      defer { state.completion = nil }
      return Handed(state.completion)
    }
    guard let completion = end.value else { return }
    let failures = state.withLock { Handed($0.failures) }.value
    completion(failures.keys.min().flatMap { failures[$0] })
  }

  /// False if all have ended.
  func expire() -> Bool {
    let completion = state.withLock { state in
      defer { state.completion = nil }
      return Handed(state.completion)
    }.value
    completion?(StorageBatchError.timeout)
    return completion != nil
  }
}
