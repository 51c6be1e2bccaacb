// Commits between the steps of a flush, one at a time and in the thread of the flush: what two threads could
// do to each other there, happens in the same way every time.

internal import ByteStore

final class Interlude: Sendable {
  struct Commit: Sendable {
    var edit: Edit
    /// How many calls the disk had served.
    var beganAt: Int
    var endedAt: Int
    var result: Result<SequenceNumber, ByteStoreError>
    /// Of the store right after the commit, if one was asked for.
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

  /// What was committed; what was not will not be.
  func finish() -> [Commit] {
    state.withLock { state in
      defer { state = State() }
      return state.commits
    }
  }

  /// One commit, if any is left.
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
