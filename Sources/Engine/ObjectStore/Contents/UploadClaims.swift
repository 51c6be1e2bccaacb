// Who works at which upload, and who takes one away.
//
// An upload that somebody works at is nobody else's. Whoever takes one away has a claim on it, for as long as that
// takes: who would go on with it waits, and finds out that it is gone.

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

  /// False if somebody works at it.
  func begin(_ number: StagedNumber) -> Bool {
    state.withLock(when: { !$0.claimed.contains(number) }) { $0.active.insert(number).inserted }
  }

  func end(_ number: StagedNumber) { state.withLock { _ = $0.active.remove(number) } }

  /// Runs `body` while nobody else can work at an upload. Nil if somebody does.
  func claiming<Value>(
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
