// A histogram of durations with buckets of fixed bounds.
//
// The bounds grow by a quarter of an octave: the four buckets of an octave divide it evenly. A percentile is
// therefore at most 25% larger than the exact value. Recording a duration is one increment in an array.

/// Counts durations in buckets.
package struct LatencyHistogram: Sendable, Hashable {
  /// The exponent of the first octave: durations below 1,024 ns share a bucket.
  private static let exponentMin = 10
  /// The exponent of the octave after the last one: durations from 137 s on share a bucket.
  private static let exponentMax = 37
  private static let stepsPerOctave = 4
  private static let bucketCount = stepsPerOctave * (exponentMax - exponentMin) + 2

  private var counts = [UInt64](repeating: 0, count: bucketCount)
  /// The number of recorded durations.
  package private(set) var count: UInt64 = 0
  package private(set) var nanosecondsMax: UInt64 = 0

  package init() {}

  package mutating func record(_ nanoseconds: UInt64) {
    counts[Self.bucket(of: nanoseconds)] &+= 1
    count &+= 1
    if nanoseconds > nanosecondsMax { nanosecondsMax = nanoseconds }
  }

  private static func bucket(of nanoseconds: UInt64) -> Int {
    let exponent = UInt64.bitWidth - 1 - nanoseconds.leadingZeroBitCount
    if exponent < exponentMin { return 0 }
    if exponent >= exponentMax { return bucketCount - 1 }
    let step = Int(truncatingIfNeeded: nanoseconds &>> UInt64(exponent - 2)) & 3
    return 1 + stepsPerOctave * (exponent - exponentMin) + step
  }

  /// A bucket with at least one duration.
  package struct Bucket: Sendable, Hashable {
    /// The smallest duration that no longer belongs to the bucket; nil for the last bucket.
    package var nanosecondsEnd: UInt64?
    package var count: UInt64
  }

  /// The buckets that have durations, in ascending order.
  package var buckets: [Bucket] {
    counts.indices.filter { counts[$0] > 0 }.map {
      Bucket(nanosecondsEnd: Self.end(of: $0), count: counts[$0])
    }
  }

  private static func end(of bucket: Int) -> UInt64? {
    guard bucket < bucketCount - 1 else { return nil }
    let (octave, step) = bucket.quotientAndRemainder(dividingBy: stepsPerOctave)
    return UInt64(stepsPerOctave + step) << UInt64(exponentMin + octave - 2)
  }
}
