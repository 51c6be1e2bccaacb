// Whether the remote can be reached, as far as users should know.

struct OnlineTracker {
  static let timeout: Int64 = 10_000_000

  private(set) var state = OnlineState.unknown
  private var failures = 0
  private(set) var isTimerRunning = false

  /// An attempt begins. True if the timer is to be started.
  mutating func begin() -> Bool {
    guard failures == 0 else { return false }
    state = .unknown
    defer { isTimerRunning = true }
    return !isTimerRunning
  }

  mutating func fail() {
    if state == .online {
      state = .unknown
    } else {
      failures += 1
      isTimerRunning = false
      state = .offline
    }
  }

  mutating func timeOut() {
    guard isTimerRunning else { return }
    isTimerRunning = false
    state = .offline
  }

  mutating func set(_ state: OnlineState) {
    isTimerRunning = false
    failures = 0
    self.state = state
  }
}
