// Passes the response of a remote to the worker of a transfer.

import ByteStore

/// The progress of a request and its final response. Any thread may use an instance.
final class RemoteAnswer<Value: Sendable>: Sendable {
  private struct State: Sendable {
    var value: Value?
    var bytes: UInt64 = 0
    /// The total number of bytes. Nil until it is known.
    var total: UInt64?
    /// Whether anything has changed since the last call of `wake`.
    var hasChanged = false
    var wake: (@Sendable () -> Void)?
  }

  private let state = Locked(State())

  var value: Value? { state.withLock { $0.value } }
  var bytes: UInt64 { state.withLock { $0.bytes } }
  var total: UInt64? { state.withLock { $0.total } }

  /// Reports progress. After a restart of the transfer, progress stays at its earlier maximum until the new
  /// value exceeds it.
  func progress(_ bytes: UInt64, of total: UInt64? = nil) {
    update { state in
      state.bytes = max(state.bytes, bytes)
      state.total = total
    }
  }

  func end(_ value: Value) { update { $0.value = value } }

  /// Wakes the waiting worker, even if nothing has changed.
  func wakeNow() { update { _ in } }

  /// Calls `wake` once, at the next change. Calls it immediately if something has changed since the last call
  /// of `wake`. Replaces the previous closure.
  ///
  /// Also calls `wake` immediately if the final response is known: the previous closure may have consumed
  /// that change after its worker had stopped waiting.
  func whenChanged(_ wake: @escaping @Sendable () -> Void) {
    let isNow = state.withLock { state in
      let isNow = state.hasChanged || state.value != nil
      state.hasChanged = false
      state.wake = isNow ? nil : wake
      return isNow
    }
    if isNow { wake() }
  }

  private func update(_ change: (inout State) -> Void) {
    let wake = state.withLock { state -> (@Sendable () -> Void)? in
      change(&state)
      defer { state.wake = nil }
      state.hasChanged = state.wake == nil
      return state.wake
    }
    wake?()
  }
}
