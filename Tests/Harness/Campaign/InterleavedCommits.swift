// Commits between the steps of a flush, one at a time on the thread of the flush.
//
// This reproduces interleavings of two threads in a deterministic order.

internal import ByteStore

final class InterleavedCommits: Sendable {
  struct Commit: Sendable {
    var edit: Edit
    /// The number of disk calls before the commit.
    var beganAt: Int
    var endedAt: Int
    var result: Result<SequenceNumber, ByteStoreError>
    /// A snapshot right after the commit, if requested.
    var snapshot: Snapshot?
  }

  private struct State {
    var edits: [Edit] = []
    var store: ByteStore?
    var disk: SimulatedDisk?
    var takesSnapshots = false
    var commits: [Commit] = []
  }

  private let state = Locked(State())

  func prepare(
    _ edits: [Edit], _ store: ByteStore, _ disk: SimulatedDisk, takesSnapshots: Bool = false
  ) {
    state.withLock {
      $0 = State(edits: edits, store: store, disk: disk, takesSnapshots: takesSnapshots)
    }
  }

  /// Returns the commits made so far and drops the rest.
  func finish() -> [Commit] {
    state.withLock { state in
      defer { state = State() }
      return state.commits
    }
  }

  /// Makes the next commit, if there is one.
  func run() {
    let next = state.withLock { state -> (Edit, ByteStore, SimulatedDisk, Bool)? in
      guard let store = state.store, let disk = state.disk, !state.edits.isEmpty else { return nil }
      return (state.edits.removeFirst(), store, disk, state.takesSnapshots)
    }
    guard let (edit, store, disk, takesSnapshot) = next else { return }
    let beganAt = disk.counters.operations
    let result = Result { () throws(ByteStoreError) in
      try store.commit(edit.batch, durability: edit.durability)
    }
    let commit = Commit(
      edit: edit, beganAt: beganAt, endedAt: disk.counters.operations, result: result,
      snapshot: takesSnapshot ? try? store.snapshot() : nil)
    state.withLock { $0.commits.append(commit) }
  }
}
