// Postpones the deletion of files while a backup copies them.

/// Tracks backups in progress and postponed deletions. Usable from any thread.
final class DeferredRemovals: Sendable {
  private struct State {
    var holders = 0
    var held: Set<BlobName> = []
  }

  private let state = Locked(State())

  /// Postpones deletions until the matching call of `release`.
  func hold() { state.withLock { $0.holders += 1 } }

  /// Ends one `hold`. The last release deletes the files whose deletion was postponed.
  func release(_ remove: (BlobName) -> Void) {
    state.withLock { state in
      state.holders -= 1
      guard state.holders == 0 else { return }
      // Delete under the lock, so that no file of these names is created in the meantime.
      state.held.forEach(remove)
      state.held = []
    }
  }

  /// Returns whether a file may be deleted now. If not, postpones its deletion.
  func canRemoveNow(_ name: BlobName) -> Bool {
    state.withLock { state in
      if state.holders > 0 { state.held.insert(name) }
      return state.holders == 0
    }
  }

  /// Cancels the postponed deletion of a file that is needed again.
  func keep(_ name: BlobName) { state.withLock { _ = $0.held.remove(name) } }
}
