// Transfers of files that are waited for together.

private import FirebaseCore

/// Calls back once: when all have ended, with the first error in their order, or when the time is up. From
/// then on it keeps nothing: whoever waits for the time to be up holds on to this alone.
package final class TransferGroup: Sendable {
  private struct State: @unchecked Sendable {
    // Unchecked, because of the closure, which is called on the callback queue, once; tasks are for any thread.
    var waiting: Int
    var failures: [Int: any Error] = [:]
    var tasks: [StorageUploadTask] = []
    var completion: (((any Error)?) -> Void)?
  }

  private let state: Guarded<State>

  package init(count: Int, _ completion: @escaping ((any Error)?) -> Void) {
    state = Guarded(State(waiting: count, completion: completion))
  }

  /// One that is cancelled when the time is up.
  package func begin(_ task: StorageUploadTask) {
    let arriving = Handed(task)
    state.withLock { state in
      // Those that have ended already need no cancelling, and nothing may hold on to them.
      if state.completion != nil { state.tasks.append(arriving.value) }
    }
  }

  package func end(_ index: Int, _ error: (any Error)?) {
    let end = state.withLock { state -> Handed<State>? in
      state.waiting -= 1
      if let error { state.failures[index] = error }
      return state.waiting == 0 ? Self.over(&state) : nil
    }
    guard let end, let completion = end.value.completion else { return }
    completion(end.value.failures.keys.min().flatMap { end.value.failures[$0] })
  }

  /// The time is up, which is `error`. Cancels what is under way of these transfers, and of no others: whoever is told may begin new ones at once.
  package func expire(_ error: any Error) {
    let end = state.withLock { Self.over(&$0) }
    guard let completion = end.value.completion else { return }
    for task in end.value.tasks { task.cancel() }
    completion(error)
  }

  private static func over(_ state: inout State) -> Handed<State> {
    defer {
      state.tasks = []
      state.failures = [:]
      state.completion = nil
    }
    return Handed(state)
  }
}
