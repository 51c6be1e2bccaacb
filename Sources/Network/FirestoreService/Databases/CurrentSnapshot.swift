// The snapshot of the last commit, which reads share until the next commit.
//
// Taking a snapshot costs more than reading a document. A snapshot retains the space of data that is replaced
// after it, so it is dropped when it was not used for a second.

internal import Authority
internal import ByteStore
internal import OfflineSync

/// Keeps the snapshot of the last commit while it is used.
final class CurrentSnapshot: Sendable {
  private struct State {
    var snapshot: SharedSnapshot?
    var wasUsed = false
    var isTimerSet = false
  }

  private static let idleNanoseconds: UInt64 = 1_000_000_000

  private let clock: ServiceClock
  private let state = Locked(State())

  init(_ clock: ServiceClock) { self.clock = clock }

  /// The kept snapshot, if it is of this version.
  func snapshot(of version: SnapshotVersion) -> SharedSnapshot? {
    state.withLock { state in
      guard let snapshot = state.snapshot, snapshot.snapshot.version == version else { return nil }
      state.wasUsed = true
      return snapshot
    }
  }

  /// Keeps a snapshot instead of the one before it.
  func keep(_ snapshot: SharedSnapshot) {
    // The one before it is closed without the lock.
    let (replaced, setsTimer) = state.withLock { state in
      let replaced = state.snapshot
      let setsTimer = !state.isTimerSet
      state = State(snapshot: snapshot, wasUsed: true, isTimerSet: true)
      return (replaced, setsTimer)
    }
    if setsTimer { setTimer() }
    withExtendedLifetime(replaced) {}
  }

  private func setTimer() {
    clock.after(Self.idleNanoseconds) { [weak self] in self?.dropIfIdle() }
  }

  private func dropIfIdle() {
    let (dropped, setsTimer): (SharedSnapshot?, Bool) = state.withLock { state in
      if state.wasUsed {
        state.wasUsed = false
        return (nil, true)
      }
      state.isTimerSet = false
      return (state.snapshot.take(), false)
    }
    if setsTimer { setTimer() }
    withExtendedLifetime(dropped) {}
  }
}
