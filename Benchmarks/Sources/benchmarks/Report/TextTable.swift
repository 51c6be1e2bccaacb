// Formats results for a terminal.

import BenchmarkReports
import Foundation

enum TextTable {
  private static let usesColor =
    isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["NO_COLOR"] == nil

  static func text(_ workload: any Workload.Type, _ rows: [ResultRow], _ verdicts: [Verdict]) -> String {
    let documents = rows.first.map { ", \(Quantity.grouped($0.documents)) documents" } ?? ""
    var lines = [styled("\(workload.name)  \(workload.title)\(documents)", "1")]
    for metric in rows.metrics {
      lines.append("  \(Quantity.name(of: metric))")
      for row in rows.filter({ $0.metric == metric }).ranked {
        let numbers = [row.median, row.min, row.max].map { Quantity.text($0, metric) }
        let text =
          "    \(row.engine.padded(to: 36))\(numbers[0].paddedLeft(to: 12))   \(numbers[1]) – \(numbers[2])"
        lines.append(row.isOurs ? styled(text, "36") : text)
      }
    }
    lines += verdicts.map { verdict in
      styled("  \(mark(verdict)) \(verdict.sentence)", verdict.isMet ? "32" : "33")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The end of a run: the speed beside the best peers, the goals, and the notices.
  static func closing(_ results: RunResults) -> String {
    let met = results.verdicts.count { $0.isMet }
    let comparisons = results.comparisons
    let width = 2 + (comparisons.map(\.title.count).max() ?? 0)
    let speeds = comparisons.map { comparison in
      let best = comparison.best
      return "  \(comparison.workload.padded(to: 6))\(comparison.title.padded(to: width))"
        + "\(comparison.words(best)), \(best.peer.title)"
    }
    let goals = results.verdicts.map { verdict in
      let documents = results.facts.isScale ? "\(Quantity.grouped(verdict.documents)) documents, " : ""
      return "  \(mark(verdict)) \(verdict.workload.padded(to: 6))\(documents)\(verdict.sentence)"
    }
    let lines =
      (speeds.isEmpty ? [] : ["Dugout beside the best peer:"] + speeds + [""])
      + ["\(met) of \(results.verdicts.count) goals met in \(Quantity.digits(results.facts.seconds)) s"]
      + goals
      + results.notices.map { styled($0, "33") }
    return lines.joined(separator: "\n")
  }

  private static func mark(_ verdict: Verdict) -> String { verdict.isMet ? "✓" : "✗" }

  private static func styled(_ text: String, _ code: String) -> String {
    usesColor ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}
