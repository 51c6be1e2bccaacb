// Ownership of uploads: one thread works on an upload, or removes it.
//
// A thread that removes an upload claims it first. A thread that tries to resume a claimed upload waits and
// then finds that it is gone.

import ByteStore
import DocumentStore

/// Usable from any thread.
final class UploadClaims: Sendable {
  private struct State {
    var active: Set<StagedNumber> = []
    var claimed: Set<StagedNumber> = []
  }

  private let state = Locked(State())

  func isActive(_ number: StagedNumber) -> Bool { state.withLock { $0.active.contains(number) } }

  /// Begins work on an upload. Waits while another thread claims the upload. Returns false if another thread
  /// works on it.
  func begin(_ number: StagedNumber) -> Bool {
    state.withLock(when: { !$0.claimed.contains(number) }) { $0.active.insert(number).inserted }
  }

  func end(_ number: StagedNumber) { state.withLock { _ = $0.active.remove(number) } }

  /// Runs `body` while no other thread can work on the upload. Returns nil if another thread works on it.
  func withClaim<Value>(
    _ number: StagedNumber, _ body: () throws(DocumentStoreError) -> Value
  ) throws(DocumentStoreError) -> Value? {
    let isMine = state.withLock(when: { !$0.claimed.contains(number) }) { state in
      guard !state.active.contains(number) else { return false }
      state.claimed.insert(number)
      return true
    }
    guard isMine else { return nil }
    defer {
      state.withLock { _ = $0.claimed.remove(number) }
      state.wakeAll()
    }
    return try body()
  }
}
