// The order of concurrent calls of `migrate` on one store.

import ByteStore
import DocumentStore
import FirebaseCore

/// Lets the calls of `migrate` on one store run one after the other, in the order of their calls.
final class MigrationTurns: StoreAttachment {
  private struct State {
    var isTaken = false
    /// The calls that wait, the first one first.
    var waiting: [@Sendable (()) -> Void] = []
  }

  private let state = Locked(State())

  func didFindDamagedBlobs() {}

  /// Waits until no other call has the turn, and takes the turn. The caller must call `leave`.
  nonisolated(nonsending) func enter() async {
    await awaitValue { (done: @escaping @Sendable (()) -> Void) in
      let isFree = state.withLock { state in
        if state.isTaken { state.waiting.append(done) }
        defer { state.isTaken = true }
        return !state.isTaken
      }
      if isFree { done(()) }
    }
  }

  /// Passes the turn to the call that has waited longest.
  func leave() {
    let next = state.withLock { state -> (@Sendable (()) -> Void)? in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.isTaken = false
      return nil
    }
    next?(())
  }
}
