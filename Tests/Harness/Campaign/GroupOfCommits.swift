// Commits from several threads that queue up in a known order.

internal import ByteStore

/// Started once, from whichever thread gets there first.
final class GroupOfCommits: Sendable {
  private struct State {
    var threads: [WorkerThread] = []
    var hasStarted = false
    var results: [Int: Result<SequenceNumber, ByteStoreError>] = [:]
  }

  private let edits: [Edit]
  private let store: ByteStore
  private let waiting: CommitsWaiting?
  private let state = Locked(State())

  init(_ edits: some Sequence<Edit>, in store: ByteStore, waiting: CommitsWaiting?) {
    self.edits = Array(edits)
    self.store = store
    self.waiting = waiting
  }

  /// To be called while a commit is being written: returns when all of these wait behind it, or had time
  /// to.
  func queueUp() {
    startAll { index in
      if let waiting {
        while waiting(store) <= index, state.withLock({ $0.results[index] == nil }) { WorkerThread.yield() }
      } else {
        for _ in 0..<50 { WorkerThread.yield() }
      }
    }
  }

  /// What is left to do if nothing was there to wait behind: one commit after the other.
  func commitOneByOne() {
    startAll { index in
      while state.withLock({ $0.results[index] == nil }) { WorkerThread.yield() }
    }
  }

  private func startAll(_ waitFor: (Int) -> Void) {
    let isFirst = state.withLock { state in
      defer { state.hasStarted = true }
      return !state.hasStarted
    }
    guard isFirst else { return }
    for (index, edit) in edits.enumerated() {
      let thread = WorkerThread { [self] in
        let result = Result { () throws(ByteStoreError) in
          try store.commit(edit.batch, durability: edit.durability)
        }
        state.withLock { $0.results[index] = result }
      }
      state.withLock { $0.threads.append(thread) }
      waitFor(index)
    }
  }

  func results() -> [Result<SequenceNumber, ByteStoreError>] {
    for thread in state.withLock({ $0.threads }) { thread.join() }
    return state.withLock { state in edits.indices.map { state.results[$0]! } }
  }
}
