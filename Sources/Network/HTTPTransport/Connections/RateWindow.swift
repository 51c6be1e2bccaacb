// Measures how fast a client sends or reads.

/// The bytes of a window of time. The first check after a restart begins the window.
struct RateWindow {
  private var start: UInt64?
  private var byteCount = 0

  mutating func restart() {
    start = nil
    byteCount = 0
  }

  mutating func add(_ byteCount: Int) { self.byteCount += byteCount }

  /// Whether fewer bytes have passed in a whole window than this rate demands. A window that was fast enough
  /// is followed by the next one.
  mutating func isTooSlow(_ bytesPerSecondMin: Int, over seconds: Int, at now: UInt64) -> Bool {
    guard let start else {
      start = now
      byteCount = 0
      return false
    }
    guard now >= start, now - start >= UInt64(seconds) * 1_000_000_000 else { return false }
    let isTooSlow = byteCount < bytesPerSecondMin * seconds
    self.start = now
    byteCount = 0
    return isTooSlow
  }
}
