// A logarithmic scale, on which 1.5 and 38 are far apart.

import Foundation

package struct LogScale: Sendable, Equatable {
  package let low: Double
  package let high: Double

  private static let reaches: [Double] = [2, 4, 10, 20, 40, 100, 400, 1000, 10_000]

  /// A scale that reaches equally far below and above 1, and contains all factors.
  package init(around factors: [Double]) {
    let farthest = factors.map { max($0, 1 / $0) }.filter(\.isFinite).max() ?? 1
    high = Self.reach(of: farthest)
    low = 1 / high
  }

  /// A scale that contains 1 and all factors.
  package init(containing factors: [Double]) {
    let finite = factors.filter { $0.isFinite && $0 > 0 }
    high = Self.reach(of: finite.max() ?? 1)
    low = 1 / Self.reach(of: 1 / (finite.min() ?? 1))
  }

  private static func reach(of factor: Double) -> Double {
    reaches.first { $0 >= factor } ?? reaches[reaches.count - 1]
  }

  /// The ends in words: "4 ×" for a low end of 0.25.
  package var lowText: String { "\(Int((1 / low).rounded())) ×" }
  package var highText: String { "\(Int(high)) ×" }

  /// The position of a factor, from 0 for `low` to 1 for `high`. Factors outside the scale are at its ends.
  package func position(_ factor: Double) -> Double {
    guard factor > low else { return 0 }
    guard factor < high else { return 1 }
    return log(factor / low) / log(high / low)
  }

  /// The factors with a tick: 1, the ends, and the powers of ten between them.
  package var ticks: [Double] {
    let powers = stride(from: -4, through: 4, by: 1).map { pow(10, Double($0)) }
    return [low] + powers.filter { $0 > low * 1.01 && $0 < high / 1.01 } + [high]
  }
}
