// A compact latency histogram: sixteen buckets per power of two, so the error is at most a sixteenth.

struct LatencyHistogram {
  private static let stepBits = 4

  private var counts = [Int](repeating: 0, count: 64 << stepBits)
  private(set) var count = 0
  private(set) var longest = Duration.zero

  mutating func add(_ duration: Duration) {
    let nanoseconds = UInt64(max(duration / .nanoseconds(1), 0))
    counts[Self.place(of: nanoseconds)] += 1
    count += 1
    longest = max(longest, duration)
  }

  mutating func add(_ other: LatencyHistogram) {
    for place in counts.indices { counts[place] += other.counts[place] }
    count += other.count
    longest = max(longest, other.longest)
  }

  /// Returns the latency that the given share of all measurements did not exceed. The share is a number from
  /// 0 to 1.
  func quantile(_ share: Double) -> Duration {
    var left = Int((Double(count) * share).rounded(.up))
    for place in counts.indices {
      left -= counts[place]
      if left <= 0 { return min(.nanoseconds(Int64(Self.end(of: place))), longest) }
    }
    return longest
  }

  /// A chart with one line per power of two.
  var chart: String {
    let steps = 1 << Self.stepBits
    let octaves = stride(from: 0, to: counts.count, by: steps).map { counts[$0..<$0 + steps].reduce(0, +) }
    guard let first = octaves.firstIndex(where: { $0 > 0 }), let last = octaves.lastIndex(where: { $0 > 0 }),
      let most = octaves.max()
    else { return "nothing was measured" }
    return (first...last).map { octave in
      let bar = String(repeating: "#", count: (60 * octaves[octave] + most - 1) / most)
      let end = Self.end(of: octave * steps + steps - 1) / 1000
      return "up to \(Self.padded(end, 9)) µs \(Self.padded(UInt64(octaves[octave]), 9)) \(bar)"
    }.joined(separator: "\n")
  }

  private static func padded(_ number: UInt64, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: " ", count: max(0, width - text.count)) + text
  }

  private static func place(of number: UInt64) -> Int {
    guard number >= 1 << UInt64(stepBits) else { return Int(number) }
    let octave = number.bitWidth - 1 - number.leadingZeroBitCount
    let step = number >> UInt64(octave - stepBits) & (1 << UInt64(stepBits) - 1)
    return (octave - stepBits + 1) << stepBits | Int(step)
  }

  /// Returns the largest value of a bucket.
  private static func end(of place: Int) -> UInt64 {
    guard place >= 1 << stepBits else { return UInt64(place) }
    let octave = place >> stepBits + stepBits - 1
    let step = UInt64(place & (1 << stepBits - 1))
    return ((1 << UInt64(stepBits) | step) + 1) << UInt64(octave - stepBits) - 1
  }
}
