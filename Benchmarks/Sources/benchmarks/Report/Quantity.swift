// Numbers formatted for people.

import Foundation

enum Quantity {
  /// Formats a value in the metric's unit, which is the suffix of its name.
  static func text(_ value: Double, _ metric: String) -> String {
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

  /// Returns the name without the unit: `limit1000_ns` becomes "limit1000".
  static func name(of metric: String) -> String {
    let eighth = "eighth_cache_"
    var name = metric.hasPrefix(eighth) ? String(metric.dropFirst(eighth.count)) : metric
    for unit in ["_ns", "_us", "_ms"] where name.hasSuffix(unit) { name = String(name.dropLast(unit.count)) }
    name = name.replacingOccurrences(of: "_per_s", with: " per second")
    name = name.replacingOccurrences(of: "limit20", with: "limit 20").replacingOccurrences(
      of: "limit1000", with: "limit 1000")
    name = name.replacingOccurrences(of: "two_threads_docs", with: "two threads, documents")
    name = name.replacingOccurrences(of: "docs", with: "documents").replacingOccurrences(of: "_", with: " ")
    return metric.hasPrefix(eighth) ? "\(name), cache of an eighth of the data" : name
  }

  static func digits(_ value: Double) -> String {
    let size = abs(value)
    if size != 0, size < 0.01 { return String(format: "%.4f", value) }
    return String(format: size < 10 ? "%.2f" : size < 100 ? "%.1f" : "%.0f", value)
  }

  static func count(_ number: Int) -> String {
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
  func padded(to width: Int) -> String { self + String(repeating: " ", count: Swift.max(1, width - count)) }
  func paddedLeft(to width: Int) -> String {
    String(repeating: " ", count: Swift.max(0, width - count)) + self
  }
}
