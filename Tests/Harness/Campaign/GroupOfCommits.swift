// Commits from several threads that queue up in a known order.

internal import ByteStore

/// A group that is started only once, by the first thread that calls one of the two start methods.
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

  /// Called while another commit is being written. Returns when all of these commits are queued, or after
  /// a delay.
  func queueUp() {
    startAll { index in
      if let waiting {
        while waiting(store) <= index, state.withLock({ $0.results[index] == nil }) { WorkerThread.yield() }
      } else {
        for _ in 0..<50 { WorkerThread.yield() }
      }
    }
  }

  /// Runs the commits one by one. This happens if no other commit was in progress behind which these commits
  /// could queue.
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
