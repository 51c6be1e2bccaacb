// A snapshot that several readers share, and that ends with the last of them.

internal import Authority
internal import ByteStore
internal import OfflineSync

/// A snapshot of a database, and the time that its readers are told. Closed with its last reference.
final class SharedSnapshot: Sendable {
  let snapshot: any BackendSnapshot
  /// The time at which the documents are read.
  let readTime: SnapshotVersion

  init(_ snapshot: any BackendSnapshot, readTime: SnapshotVersion) {
    self.snapshot = snapshot
    self.readTime = readTime
  }

  deinit { snapshot.close() }
}

/// The snapshots that are in use, by their read times. Reads at the same time share one, so that it can be
/// found as long as one of them uses it.
final class HeldSnapshots: Sendable {
  private struct Entry: @unchecked Sendable {
    // The conformance is unchecked, because the reference is not assigned after initialization.
    weak var snapshot: SharedSnapshot?
  }

  private struct State {
    var entries: [SnapshotVersion: Entry] = [:]
    /// The number of entries at which those of ended snapshots are removed.
    var sweepCount = 16
  }

  private let state = Locked(State())

  /// Returns the snapshot of the same time that is in use, or adds `snapshot`.
  func shared(_ snapshot: SharedSnapshot) -> SharedSnapshot {
    state.withLock { state in
      if let used = state.entries[snapshot.readTime]?.snapshot { return used }
      if state.entries.count >= state.sweepCount {
        state.entries = state.entries.filter { $0.value.snapshot != nil }
        state.sweepCount = max(16, 2 * state.entries.count)
      }
      state.entries[snapshot.readTime] = Entry(snapshot: snapshot)
      return snapshot
    }
  }

  func snapshot(at time: SnapshotVersion) -> SharedSnapshot? { state.withLock { $0.entries[time]?.snapshot } }
}
