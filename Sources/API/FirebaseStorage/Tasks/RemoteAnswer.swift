// What a remote says, on its way to the worker of a transfer.

import FirebaseCore

/// One answer, and before it how far it is. Usable from any thread.
final class RemoteAnswer<Value: Sendable>: Sendable {
  private struct State: Sendable {
    var value: Value?
    var bytes: UInt64 = 0
    /// Nil as long as it is not known.
    var total: UInt64?
    /// Since somebody was woken.
    var hasNews = false
    var wake: (@Sendable () -> Void)?
  }

  private let state = Guarded(State())

  var value: Value? { state.withLock { $0.value } }
  var bytes: UInt64 { state.withLock { $0.bytes } }
  var total: UInt64? { state.withLock { $0.total } }

  /// What began anew is told of again once it is further than it was.
  func progress(_ bytes: UInt64, of total: UInt64? = nil) {
    news { state in
      state.bytes = max(state.bytes, bytes)
      state.total = total
    }
  }

  func end(_ value: Value) { news { $0.value = value } }

  /// Wakes whoever waits, though there is nothing new.
  func wakeNow() { news { _ in } }

  /// `wake` is called once, at once if there was something new since the last time. It takes the place of the one before,
  /// which may have been told of the answer when nobody waited with it any more: then there is none to come.
  func whenNew(_ wake: @escaping @Sendable () -> Void) {
    let isNow = state.withLock { state in
      let isNow = state.hasNews || state.value != nil
      state.hasNews = false
      state.wake = isNow ? nil : wake
      return isNow
    }
    if isNow { wake() }
  }

  private func news(_ change: (inout State) -> Void) {
    let wake = state.withLock { state -> (@Sendable () -> Void)? in
      change(&state)
      defer { state.wake = nil }
      state.hasNews = state.wake == nil
      return state.wake
    }
    wake?()
  }
}
