// How fast commits may come in while a flush has more to do than it gets done.
//
// The more log there is beyond what flushes start at, the longer each commit waits, in proportion to its
// bytes: writers slow down to the speed of the flush and nobody is stopped for the whole of it.

enum Pace {
  /// So many times the bytes that start a flush may come together before anyone waits.
  private static let freePart = 2.0
  /// What a commit may take for itself, in bytes a second, right after that.
  private static let bytesPerSecond = 100e6
  /// With it and the longest sync of the device, the longest commit stays within 50 ms of that sync.
  private static let delayMax = 0.02

  /// In seconds.
  static func delay(forBytes bytes: Int, logBytes: UInt64, flushBytes: UInt64) -> Double {
    let debt = Double(logBytes) / Double(max(flushBytes, 1)) - freePart
    guard debt > 0 else { return 0 }
    return min(Double(bytes) / bytesPerSecond * (1 + 4 * debt), delayMax)
  }
}
