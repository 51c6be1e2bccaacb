// Judges the curve of a run: memory and descriptors must be flat.

#if Server
/// The verdict on the samples after the warm-up.
package struct ListenerVerdict: Sendable {
  /// The first part of a run, in which caches and allocators fill.
  private static let warmUpShare = 0.2
  /// Less time says nothing about growth.
  private static let secondsMin = 240.0
  /// The growth that a line through the samples may have in ten minutes.
  private static let growthPerTenMinutes = 0.02
  /// The distance that samples may have besides, for what an allocator keeps.
  private static let rangeKilobytes = 5 * 1024

  package private(set) var failures: [String] = []
  /// Whether the run was long enough for memory to be judged.
  package private(set) var hasJudgedMemory = false
  package private(set) var growthKilobytesPerTenMinutes = 0
  package private(set) var rangeKilobytes = 0
  package private(set) var descriptorRange = 0

  /// `descriptorSlack` is the number of descriptors that clients on their way may have.
  package init(_ samples: [ListenerSample], descriptorSlack: Int) {
    let end = samples.last?.seconds ?? 0
    let judged = samples.filter { $0.seconds >= end * Self.warmUpShare }
    guard let first = judged.first, let last = judged.last else { return }
    let descriptors = judged.map(\.descriptors)
    descriptorRange = (descriptors.max() ?? 0) - (descriptors.min() ?? 0)
    if descriptorRange > descriptorSlack {
      failures.append("the number of descriptors varies by \(descriptorRange), and may by \(descriptorSlack)")
    }
    judgeMemory(judged, seconds: last.seconds - first.seconds)
  }

  private mutating func judgeMemory(_ samples: [ListenerSample], seconds: Double) {
    let memory = samples.map { Double($0.judgedKilobytes) }
    let mean = memory.reduce(0, +) / Double(memory.count)
    rangeKilobytes = Int((memory.max() ?? 0) - (memory.min() ?? 0))
    let growth = Self.slope(zip(samples.map(\.seconds), memory).map { ($0, $1) }) * 600
    growthKilobytesPerTenMinutes = Int(growth.rounded())
    guard seconds >= Self.secondsMin else { return }
    hasJudgedMemory = true
    if growth > mean * Self.growthPerTenMinutes {
      failures.append(
        "memory grows by \(growthKilobytesPerTenMinutes) kB in ten minutes, of \(Int(mean)) kB")
    }
    let rangeMax = Double(Self.rangeKilobytes) + mean * Self.growthPerTenMinutes * max(1, seconds / 600)
    if Double(rangeKilobytes) > rangeMax {
      failures.append("memory varies by \(rangeKilobytes) kB, and may by \(Int(rangeMax)) kB")
    }
  }

  /// The slope of the line with the least squares.
  static func slope(_ points: [(Double, Double)]) -> Double {
    let count = Double(points.count)
    let (x, y) = points.reduce((0, 0)) { ($0.0 + $1.0 / count, $0.1 + $1.1 / count) }
    let square = points.reduce(0) { $0 + ($1.0 - x) * ($1.0 - x) }
    return square > 0 ? points.reduce(0) { $0 + ($1.0 - x) * ($1.1 - y) } / square : 0
  }
}
#endif
