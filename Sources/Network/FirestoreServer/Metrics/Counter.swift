// Counters and histograms that many threads change without a lock.

internal import Synchronization

/// A number that only grows.
final class Counter: Sendable {
  private let count = Atomic<UInt64>(0)

  func add(_ amount: UInt64 = 1) { count.wrappingAdd(amount, ordering: .relaxed) }

  var value: UInt64 { count.load(ordering: .relaxed) }
}

/// The number of things that exist now.
final class Gauge: Sendable {
  private let count = Atomic<Int64>(0)

  func add(_ amount: Int64) { count.wrappingAdd(amount, ordering: .relaxed) }

  var value: Int64 { count.load(ordering: .relaxed) }
}

/// Durations in buckets of fixed bounds.
final class DurationHistogram: Sendable {
  /// The largest duration of each bucket but the last, in nanoseconds, with its text in seconds.
  static let bounds: [(nanoseconds: UInt64, text: String)] = [
    (100_000, "0.0001"), (250_000, "0.00025"), (500_000, "0.0005"), (1_000_000, "0.001"),
    (2_500_000, "0.0025"), (5_000_000, "0.005"), (10_000_000, "0.01"), (25_000_000, "0.025"),
    (50_000_000, "0.05"), (100_000_000, "0.1"), (250_000_000, "0.25"), (500_000_000, "0.5"),
    (1_000_000_000, "1"), (2_500_000_000, "2.5"), (5_000_000_000, "5"), (10_000_000_000, "10"),
  ]

  private let buckets = (0...bounds.count).map { _ in Counter() }
  private let nanoseconds = Counter()

  func record(_ duration: UInt64) {
    var place = 0
    while place < Self.bounds.count, duration > Self.bounds[place].nanoseconds { place += 1 }
    buckets[place].add()
    nanoseconds.add(duration)
  }

  /// The number of durations in each bucket.
  var counts: [UInt64] { buckets.map(\.value) }
  var sumNanoseconds: UInt64 { nanoseconds.value }
}
