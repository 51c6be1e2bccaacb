// Files that are to go, and that a backup still wants to copy.

/// Usable from any thread.
final class Removals: Sendable {
  private struct State {
    var holders = 0
    var held: Set<BlobName> = []
  }

  private let state = Locked(State())

  /// From now on, what is to go stays, until `release`.
  func hold() { state.withLock { $0.holders += 1 } }

  /// The last one removes what was held.
  func release(_ remove: (BlobName) -> Void) {
    state.withLock { state in
      state.holders -= 1
      guard state.holders == 0 else { return }
      // Under the lock, so that nothing of these names comes back in between.
      state.held.forEach(remove)
      state.held = []
    }
  }

  /// Whether a file may go now; otherwise it goes later.
  func mayRemove(_ name: BlobName) -> Bool {
    state.withLock { state in
      if state.holders > 0 { state.held.insert(name) }
      return state.holders == 0
    }
  }

  /// A file of this name is wanted once more.
  func keep(_ name: BlobName) { state.withLock { _ = $0.held.remove(name) } }
}
