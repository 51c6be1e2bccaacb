// How long a client may take for a head and for a body.

/// The times of the request that is arriving.
struct HTTP1Times {
  private static let rateSeconds = 10

  private var headStart: UInt64?
  private var windowStart: UInt64?
  private var windowByteCount = 0
  /// The bytes of the body that have arrived.
  var bodyByteCount = 0

  /// Called after bytes were parsed. Most heads arrive together, and need no time.
  mutating func noteHead(isIncomplete: Bool, _ clock: MonotonicClock) {
    if !isIncomplete { headStart = nil } else if headStart == nil { headStart = clock.now() }
  }

  mutating func beginRequest() {
    headStart = nil
    windowStart = nil
    bodyByteCount = 0
  }

  /// The limit that the client has exceeded.
  mutating func exceeded(_ now: UInt64, _ limits: HTTPLimits, isInBody: Bool) -> HTTP1Refusal? {
    if let headStart, hasPassed(limits.headerSeconds, since: headStart, at: now) { return .headerTimeout }
    guard isInBody else { return nil }
    guard let start = windowStart else {
      beginWindow(now)
      return nil
    }
    guard hasPassed(Self.rateSeconds, since: start, at: now) else { return nil }
    let arrived = bodyByteCount - windowByteCount
    guard arrived >= Self.rateSeconds * limits.bodyBytesPerSecondMin else { return .bodyTimeout }
    beginWindow(now)
    return nil
  }

  private mutating func beginWindow(_ now: UInt64) {
    windowStart = now
    windowByteCount = bodyByteCount
  }

  private func hasPassed(_ seconds: Int, since start: UInt64, at now: UInt64) -> Bool {
    now > start && now - start >= UInt64(seconds) * 1_000_000_000
  }
}
