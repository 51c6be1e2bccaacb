// Refreshes a read-only store while it has listeners.
//
// 1. A new listener schedules a turn at once, so that it does not begin with an old state. If a turn was
//    scheduled for later, the new one replaces it.
// 2. A turn ends the following if no listener is left. Otherwise it refreshes the store and schedules the
//    next turn.
// 3. Each failure doubles the time to the next turn, up to half a minute, and a success restores it. A
//    damaged or missing store is therefore not read several times per second.
//
// Turns have numbers, and only the turn that was scheduled last does anything. A listener that is added
// before the check of a turn is counted by it. A later one schedules another turn.

import ByteStore
import Dispatch

final class StoreFollower: Sendable {
  static let secondsDefault = 0.25
  /// The longest time to the next turn after failures, unless the interval is longer.
  static let secondsAfterFailuresMax = 30.0

  /// Runs `body` on the queue after a time in seconds.
  typealias Timer =
    @Sendable (DispatchQueue, _ seconds: Double, _ body: @escaping @Sendable () -> Void) -> Void

  private struct State {
    /// The number of the turn that was scheduled last.
    var turn: UInt64 = 0
    /// Whether this turn waits on the queue, and for no timer.
    var isDue = false
    var isStopped = false
    /// The time to the next turn.
    var seconds: Double
  }

  private let queue = DispatchQueue(label: "dugout.firestore.following", qos: .utility)
  private let interval: Double
  private let timer: Timer
  private let isNeeded: @Sendable () -> Bool
  private let refresh: @Sendable () -> Bool
  private let state: Locked<State>

  /// `seconds` is at most a day. `refresh` returns whether it succeeded.
  init(
    every seconds: Double, while isNeeded: @escaping @Sendable () -> Bool,
    timer: @escaping Timer = StoreFollower.dispatchTimer, refresh: @escaping @Sendable () -> Bool
  ) {
    interval = seconds
    self.timer = timer
    self.isNeeded = isNeeded
    self.refresh = refresh
    state = Locked(State(seconds: seconds))
  }

  private static let dispatchTimer: Timer = { queue, seconds, body in
    queue.asyncAfter(deadline: .now() + .microseconds(Int(seconds * 1_000_000))) { body() }
  }

  /// Refreshes the store as soon as possible, and follows it while it is needed.
  func begin() {
    let turn = state.withLock { state -> UInt64? in
      guard !state.isDue, !state.isStopped else { return nil }
      state.turn += 1
      state.isDue = true
      return state.turn
    }
    guard let turn else { return }
    queue.async { [weak self] in self?.take(turn) }
  }

  private func take(_ turn: UInt64) {
    let isCurrent = state.withLock { state in
      guard state.turn == turn, !state.isStopped else { return false }
      state.isDue = false
      return true
    }
    guard isCurrent, isNeeded() else { return }
    let hasSucceeded = refresh()
    let next = state.withLock { state -> (turn: UInt64, seconds: Double)? in
      state.seconds =
        hasSucceeded ? interval : max(interval, min(2 * state.seconds, Self.secondsAfterFailuresMax))
      // A listener that was added meanwhile has scheduled a turn that comes sooner.
      guard state.turn == turn, !state.isStopped else { return nil }
      state.turn += 1
      return (state.turn, state.seconds)
    }
    guard let next else { return }
    timer(queue, next.seconds) { [weak self] in self?.take(next.turn) }
  }

  /// Stops the following for good, and waits for a refresh that is running.
  func stop() {
    state.withLock { $0.isStopped = true }
    queue.sync {}
  }
}
