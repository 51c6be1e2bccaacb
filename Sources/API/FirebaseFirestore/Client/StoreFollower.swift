// Refreshes a read-only store while it has listeners.
//
// 1. A new listener begins the following, unless it is running.
// 2. A turn ends the following if no listener is left. Otherwise it refreshes the store and schedules the
//    next turn. The first turn comes at once, so that a listener does not begin with an old state.
//
// A listener that is added before the check of a turn keeps the following running. One that is added after
// it begins the following again.

import ByteStore
import Dispatch

final class StoreFollower: Sendable {
  static let secondsDefault = 0.25

  private struct State {
    var isRunning = false
    var isStopped = false
  }

  private let queue = DispatchQueue(label: "dugout.firestore.following", qos: .utility)
  private let interval: DispatchTimeInterval
  private let isNeeded: @Sendable () -> Bool
  private let refresh: @Sendable () -> Void
  private let state = Locked(State())

  /// `seconds` is at most a day.
  init(
    every seconds: Double, while isNeeded: @escaping @Sendable () -> Bool,
    refresh: @escaping @Sendable () -> Void
  ) {
    interval = .microseconds(Int(seconds * 1_000_000))
    self.isNeeded = isNeeded
    self.refresh = refresh
  }

  func begin() {
    let isFirst = state.withLock { state in
      guard !state.isRunning, !state.isStopped else { return false }
      state.isRunning = true
      return true
    }
    if isFirst { queue.async { [weak self] in self?.takeTurn() } }
  }

  private func takeTurn() {
    let continues = state.withLock { state in
      state.isRunning = !state.isStopped && isNeeded()
      return state.isRunning
    }
    guard continues else { return }
    refresh()
    queue.asyncAfter(deadline: .now() + interval) { [weak self] in self?.takeTurn() }
  }

  /// Stops the following for good, and waits for a refresh that is running.
  func stop() {
    state.withLock { $0.isStopped = true }
    queue.sync {}
  }
}
