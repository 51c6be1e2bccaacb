// Numbers formatted for people.

import Foundation

package enum Quantity {
  /// The start of the names of metrics that were measured with a cache of an eighth of the data.
  package static let smallCache = "eighth_cache_"

  /// Formats a value in the metric's unit, which is the suffix of its name.
  package static func text(_ value: Double, _ metric: String) -> String {
    if metric.hasSuffix("mb_per_s") { return "\(scaled(value * 1e6, [" B", " kB", " MB", " GB"], 1000))/s" }
    if metric.hasSuffix("_per_s") { return "\(scaled(value, ["", " k", " M", " G"], 1000))/s" }
    if metric.hasSuffix("_ns") { return time(value) }
    if metric.hasSuffix("_us") || metric.contains("_us_") || metric.hasPrefix("us_") {
      return time(value * 1e3)
    }
    if metric.hasSuffix("_ms") { return time(value * 1e6) }
    if metric == "bytes_per_document" { return "\(digits(value)) B" }
    if metric.hasSuffix("bytes") { return scaled(value, [" B", " kB", " MB", " GB"], 1000) }
    return digits(value)
  }

  /// Returns the name in words, without the unit: `limit1000_ns` becomes "limit 1,000".
  package static func name(of metric: String) -> String {
    let isSmall = metric.hasPrefix(smallCache)
    var name = isSmall ? String(metric.dropFirst(smallCache.count)) : metric
    for unit in ["_ns", "_us", "_ms"] where name.hasSuffix(unit) { name = String(name.dropLast(unit.count)) }
    for (part, words) in nameParts { name = name.replacingOccurrences(of: part, with: words) }
    return isSmall ? "\(name), small cache" : name
  }

  private static let nameParts = [
    ("_per_s", " per second"), ("limit20", "limit 20"), ("limit1000", "limit 1,000"),
    ("_dictionary", ", as a dictionary"), ("_dictionaries", ", as dictionaries"),
    ("_structs", ", as structs"), ("_struct", ", as a struct"),
    ("two_threads_docs", "two threads, documents"), ("docs", "documents"), ("_", " "),
  ]

  /// Formats a factor: "1.03 ×", "2.4 ×", "38 ×".
  package static func times(_ factor: Double) -> String {
    String(format: factor < 1.95 ? "%.2f ×" : factor < 9.95 ? "%.1f ×" : "%.0f ×", factor)
  }

  package static func digits(_ value: Double) -> String {
    let size = abs(value)
    if size != 0, size < 0.01 { return String(format: "%.4f", value) }
    return String(format: size < 10 ? "%.2f" : size < 100 ? "%.1f" : "%.0f", value)
  }

  /// Formats a count with commas between the thousands.
  package static func grouped(_ number: Int) -> String {
    guard number >= 1000 else { return "\(number)" }
    return grouped(number / 1000) + "," + String(format: "%03d", number % 1000)
  }

  package static func count(_ number: Int) -> String {
    number >= 1_000_000 && number % 100_000 == 0
      ? "\(digits(Double(number) / 1e6)) M"
      : number >= 1000 && number % 1000 == 0 ? "\(number / 1000) k" : "\(number)"
  }

  private static func time(_ nanoseconds: Double) -> String {
    scaled(nanoseconds, [" ns", " µs", " ms", " s"], 1000)
  }

  private static func scaled(_ value: Double, _ units: [String], _ step: Double) -> String {
    var value = value
    var unit = 0
    while abs(value) >= step, unit < units.count - 1 {
      value /= step
      unit += 1
    }
    return digits(value) + units[unit]
  }
}

extension String {
  package func padded(to width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(1, width - count))
  }
  package func paddedLeft(to width: Int) -> String {
    String(repeating: " ", count: Swift.max(0, width - count)) + self
  }
}
