// The online state that users see.

struct OnlineTracker {
  static let timeout: Int64 = 10_000_000

  private(set) var state = OnlineState.unknown
  private var failures = 0
  private(set) var isTimerRunning = false

  /// Called when a connection attempt starts. Returns true if the caller has to start the timer.
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

  /// Notes that the device has no network, as if an attempt to connect had failed.
  mutating func lose() {
    isTimerRunning = false
    failures = max(1, failures)
    state = .offline
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
