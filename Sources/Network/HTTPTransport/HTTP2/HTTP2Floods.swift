// Limits the frames of an HTTP/2 client that cost work and lead to nothing.
//
//   resets     requests that the client resets, or has the server reset because it breaks a rule
//   frames     SETTINGS, PRIORITY, answers to pings that were not sent, and DATA without bytes
//   updates    WINDOW_UPDATEs beyond those that a client may send for the DATA that it has received
//   pings      those without an answer of the server in between: gRPC probes the bandwidth after answers

/// Counts the frames of one connection. A method returns the limit that its frame exceeds.
struct HTTP2Floods {
  /// A number of events at once, and more of them with time.
  private struct Allowance {
    private static let burst = 1000.0
    private static let perSecond = 33.0

    private var left = burst
    private var last: UInt64

    init(_ now: UInt64) { last = now }

    /// Takes an event. Returns false if there were too many.
    mutating func take(_ now: UInt64) -> Bool {
      if now > last {
        left = min(Self.burst, left + Double(now - last) / 1e9 * Self.perSecond)
        last = now
      }
      guard left >= 1 else { return false }
      left -= 1
      return true
    }
  }

  private static let pingsMax = 2
  private static let pingWindowNanoseconds: UInt64 = 10_000_000_000
  /// WINDOW_UPDATEs for a frame of DATA: one of the request and one of the connection, and as many more.
  private static let updatesPerFrame = 4
  private static let unusedUpdatesMax = 1_000_000

  private var resets: Allowance
  private var frames: Allowance
  private var unusedUpdates = 0
  private var pings = 0
  private var pingsBegan: UInt64 = 0

  init(_ now: UInt64) {
    resets = Allowance(now)
    frames = Allowance(now)
  }

  mutating func reset(_ now: UInt64) -> Refusal? { resets.take(now) ? nil : .resetFlood }

  mutating func frameWithoutEffect(_ now: UInt64) -> Refusal? { frames.take(now) ? nil : .frameFlood }

  mutating func windowUpdate(_ now: UInt64) -> Refusal? {
    guard unusedUpdates == 0 else {
      unusedUpdates -= 1
      return nil
    }
    return frameWithoutEffect(now)
  }

  mutating func ping(_ now: UInt64) -> Refusal? {
    if pings == 0 || now - pingsBegan > Self.pingWindowNanoseconds {
      pings = 0
      pingsBegan = now
    }
    pings += 1
    return pings > Self.pingsMax ? .pingFlood : nil
  }

  /// The server has sent HEADERS or DATA.
  mutating func answered() {
    pings = 0
    unusedUpdates = min(unusedUpdates + Self.updatesPerFrame, Self.unusedUpdatesMax)
  }
}
