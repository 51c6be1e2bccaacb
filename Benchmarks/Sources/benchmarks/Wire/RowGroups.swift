// Runs the parts of a row group, and prints a table for each.
//
// In each round, every subject of a part has its turn, in another order. A ratio is computed in each round
// from two results that were measured right after each other. The table has the median of the ratios, and
// their range.

import Foundation

enum RowGroups {
  static let all: [any RowGroup.Type] = [WireRows.self, ServerRows.self, SyncRows.self]

  static func run(_ name: String, _ options: BenchmarkOptions) throws {
    guard let group = all.first(where: { $0.name == name }) else {
      throw BenchmarkFailure("there is no row group \(name); there are \(all.map { $0.name })")
    }
    let root = URL(fileURLWithPath: options.directory)
      .appendingPathComponent("dugout-rows-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: root) }
    Progress.print("\(group.name)  \(group.title)\n")
    for part in try group.parts(options, in: root.path) {
      Progress.print(table(part, try results(of: part, rounds: options.runs)) + "\n")
    }
  }

  /// For each subject, the results of all rounds.
  private static func results(of part: RowPart, rounds: Int) throws -> [[Double]] {
    var results = [[Double]](repeating: [], count: part.subjects.count)
    // The first round warms up caches and is not counted.
    for round in 0...rounds {
      for index in part.subjects.indices.shuffled() {
        Progress.step(
          "\(part.title), round \(round) of \(rounds), \(part.subjects[index].name)", done: round, of: rounds)
        let result = try part.subjects[index].round()
        if round > 0 { results[index].append(result) }
      }
    }
    Progress.clear()
    return results
  }

  private static func table(_ part: RowPart, _ results: [[Double]]) -> String {
    var lines = ["  \(part.title)"]
    let base = results.first ?? []
    for (subject, values) in zip(part.subjects, results) {
      let ratios = zip(values, base).map { $0 / $1 }
      let numbers = spread(values, digits: 0, unit: " \(subject.unit)")
      lines.append(
        "    \(column(subject.name, 40))\(column(numbers, 30))\(spread(ratios, digits: 2, unit: " ×"))")
    }
    for goal in part.goals {
      guard let index = part.subjects.firstIndex(where: { $0.name == goal.subject }), !base.isEmpty else {
        continue
      }
      lines += verdicts(goal, part, values: results[index], base: base)
    }
    lines += (part.notes?() ?? []).map { "    \($0)" }
    return lines.joined(separator: "\n")
  }

  private static func verdicts(
    _ goal: RowGoal, _ part: RowPart, values: [Double], base: [Double]
  ) -> [String] {
    var lines: [String] = []
    if let ratioMax = goal.ratioMax {
      let ratio = median(zip(values, base).map { $0 / $1 })
      lines.append(
        "  \(ratio <= ratioMax ? "✓" : "✗") \(goal.subject): \(number(ratio, 2)) × of "
          + "\(part.subjects[0].name), goal at most \(number(ratioMax, 2)) ×")
    }
    if let valueMax = goal.valueMax, let unit = part.subjects.first(where: { $0.name == goal.subject })?.unit
    {
      let value = median(values)
      lines.append(
        "  \(value <= valueMax ? "✓" : "✗") \(goal.subject): \(number(value, 0)) \(unit), "
          + "goal at most \(number(valueMax, 0)) \(unit)")
    }
    return lines
  }

  // MARK: Text

  /// The median, and the smallest and the largest value.
  private static func spread(_ values: [Double], digits: Int, unit: String) -> String {
    let (low, high) = (values.min() ?? 0, values.max() ?? 0)
    return "\(number(median(values), digits))\(unit) (\(number(low, digits)) – \(number(high, digits)))"
  }

  private static func median(_ values: [Double]) -> Double {
    values.isEmpty ? 0 : values.sorted()[values.count / 2]
  }

  private static func number(_ number: Double, _ digits: Int) -> String {
    String(format: "%.\(digits)f", number)
  }

  private static func column(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }
}
