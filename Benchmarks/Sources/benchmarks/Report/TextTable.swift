// Formats results for a terminal.

import Foundation

enum TextTable {
  private static let usesColor =
    isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["NO_COLOR"] == nil

  static func text(_ workload: any Workload.Type, _ rows: [ResultRow], _ verdicts: [Verdict]) -> String {
    let documents = rows.first.map { ", \(Quantity.count($0.documents)) documents" } ?? ""
    var lines = [styled("\(workload.name)  \(workload.title)\(documents)", "1")]
    for metric in metrics(rows) {
      lines.append("  \(Quantity.name(of: metric))")
      for row in ranked(rows.filter { $0.metric == metric }) {
        let numbers = [row.median, row.min, row.max].map { Quantity.text($0, metric) }
        let text =
          "    \(row.engine.padded(to: 36))\(numbers[0].paddedLeft(to: 12))   \(numbers[1]) – \(numbers[2])"
        lines.append(row.engine.hasPrefix("dugout") ? styled(text, "36") : text)
      }
    }
    lines += verdicts.map { line($0) }
    return lines.joined(separator: "\n") + "\n"
  }

  static func line(_ verdict: Verdict) -> String {
    let text = "  \(verdict.isMet ? "✓" : "✗") \(sentence(verdict))"
    return styled(text, verdict.isMet ? "32" : "33")
  }

  static func sentence(_ verdict: Verdict) -> String {
    let over = verdict.bestPeer.map { " × \($0)" } ?? ""
    let spread = verdict.spread.map {
      " (\(Quantity.digits($0.lowerBound)) – \(Quantity.digits($0.upperBound)))"
    }
    return "\(verdict.goal.title): \(value(verdict.value, verdict))\(over)\(spread ?? ""), "
      + "goal ≤ \(value(verdict.goal.bound, verdict))"
  }

  /// Formats a ratio, or a value with its unit.
  static func value(_ value: Double, _ verdict: Verdict) -> String {
    if case .absolute = verdict.goal.measure { return Quantity.text(value, verdict.goal.metric) }
    return Quantity.digits(value)
  }

  /// Returns the metrics in order of first occurrence. Metrics that were measured with a small cache come
  /// last.
  static func metrics(_ rows: [ResultRow]) -> [String] {
    var metrics: [String] = []
    for row in rows where !metrics.contains(row.metric) { metrics.append(row.metric) }
    return metrics.filter { !$0.hasPrefix("eighth") } + metrics.filter { $0.hasPrefix("eighth") }
  }

  /// Sorts the rows, best first. The limits of the machine come last.
  static func ranked(_ rows: [ResultRow]) -> [ResultRow] {
    rows.sorted { left, right in
      let limits = [left, right].map { Limits.names.contains($0.engine) }
      if limits[0] != limits[1] { return limits[1] }
      return left.isRate ? left.median > right.median : left.median < right.median
    }
  }

  private static func styled(_ text: String, _ code: String) -> String {
    usesColor ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}
