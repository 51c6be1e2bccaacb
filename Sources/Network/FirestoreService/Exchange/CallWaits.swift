// The waits of a call, which end with it.

internal import ByteStore

/// The waits of one call. When the call is over, they end, and nothing that waited begins.
final class CallWaits: Sendable {
  private struct State {
    var isOver = false
    var lastNumber = 0
    var ends: [Int: @Sendable () -> Void] = [:]
  }

  private let state = Locked(State())

  var isOver: Bool { state.withLock { $0.isOver } }

  /// Adds a wait, which `end` ends early. Returns nil if the call is over.
  func begin(_ end: @escaping @Sendable () -> Void) -> Int? {
    state.withLock { state in
      guard !state.isOver else { return nil }
      state.lastNumber += 1
      state.ends[state.lastNumber] = end
      return state.lastNumber
    }
  }

  /// Removes a wait that has ended. Returns false if the call is over, so that nothing may begin.
  func end(_ number: Int) -> Bool { state.withLock { $0.ends.removeValue(forKey: number) != nil } }

  /// Ends all waits, because the call is over.
  func endAll() {
    let ends = state.withLock { state in
      state.isOver = true
      defer { state.ends = [:] }
      return state.ends.values
    }
    for end in ends { end() }
  }
}
