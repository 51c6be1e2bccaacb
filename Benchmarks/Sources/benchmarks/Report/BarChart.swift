// The bar chart of a workload. There is one bar per metric and engine, with a line from the minimum to the
// maximum. Other lines mark the goal and the machine's limit.

import Foundation

enum BarChart {
  private static let step = 24.0

  static func image(_ rows: [ResultRow], _ verdicts: [Verdict]) -> SVGImage {
    let all = rows
    let groups = TextTable.metrics(rows).map { metric in (metric, rows.filter { $0.metric == metric }) }
    var image = SVGImage(title: "\(rows.first?.workload ?? "")", height: 10)
    // Space for the longest name.
    let left = 30 + 6.8 * Double(rows.map(\.engine.count).max() ?? 0)
    for (metric, rows) in groups {
      let goals = verdicts.filter { $0.goal.metric == metric }.compactMap { goalValue($0, of: all) }
      draw(metric, TextTable.ranked(rows), goals, left: left, &image)
    }
    return image
  }

  private static func draw(
    _ metric: String, _ rows: [ResultRow], _ goals: [Double], left: Double, _ image: inout SVGImage
  ) {
    // Space for the number after the longest bar.
    let plot = image.width - left - 90
    let bars = rows.filter { !Limits.names.contains($0.engine) }
    let limits = rows.filter { Limits.names.contains($0.engine) }
    guard let first = bars.first else { return }
    // A distant limit would make the bars too short. Such a limit is printed instead of drawn.
    let reach = Swift.max(bars.map(\.max).max() ?? 1, goals.max() ?? 0)
    let largest = limits.map(\.median).filter { $0 <= reach * 2 }.reduce(reach, Swift.max)
    func place(_ value: Double) -> Double {
      left + plot * Swift.min(value, largest) / Swift.max(largest, 1e-12)
    }

    image.text(Quantity.name(of: metric), x: 0, y: image.height + 16, isBold: true)
    image.text(
      first.isRate ? "longer is better" : "shorter is better", x: image.width, y: image.height + 16,
      color: "quiet", anchor: "end", size: 11)
    let top = image.height + 26
    let bottom = top + step * Double(bars.count)
    for (index, row) in bars.enumerated() {
      let y = top + step * Double(index)
      let isOurs = row.engine.hasPrefix("dugout")
      image.text(
        row.engine, x: left - 10, y: y + 15, color: isOurs ? "ours" : "ink", anchor: "end", isBold: isOurs)
      let numbers = [row.median, row.min, row.max].map { Quantity.text($0, metric) }
      image.bar(
        x: left, y: y + 4, width: place(row.median) - left, height: step - 9, color: isOurs ? "ours" : "peer",
        note: "\(row.engine): \(numbers[0]), from \(numbers[1]) to \(numbers[2])")
      if row.max > row.min {
        image.line((place(row.min), y + step / 2), (place(row.max), y + step / 2), color: "ink")
      }
    }
    var notes: [(text: String, color: String)] = []
    for goal in goals {
      image.line((place(goal), top), (place(goal), bottom), color: "goal", width: 1.5)
      notes.append(("goal \(Quantity.text(goal, metric))", "goal"))
    }
    for limit in limits {
      let isInside = limit.median <= largest
      if isInside {
        image.line(
          (place(limit.median), top), (place(limit.median), bottom), color: "limit", width: 1.5, dash: "4 3")
      }
      notes.append(
        ("\(limit.engine) \(Quantity.text(limit.median, metric))\(isInside ? "" : ", far outside")", "limit"))
    }
    for (index, row) in bars.enumerated() {
      image.text(
        Quantity.text(row.median, metric), x: place(row.max) + 8, y: top + step * Double(index) + 15,
        color: "ink", size: 12)
    }
    var x = left
    for note in notes {
      image.text(note.text, x: x, y: bottom + 14, color: note.color, size: 11)
      x += Double(note.text.count) * 6.2 + 24
    }
    image.height = bottom + (notes.isEmpty ? 14 : 30)
  }

  /// Returns the bound of the goal as a value of the metric. `rows` are the rows of all metrics.
  private static func goalValue(_ verdict: Verdict, of rows: [ResultRow]) -> Double? {
    let other: ResultRow?
    switch verdict.goal.measure {
    case .absolute: return verdict.goal.bound
    case .toBestPeer(let metric):
      other = rows.first { $0.engine == verdict.bestPeer && $0.metric == metric }
    case .toOwn(let engine, let metric): other = rows.first { $0.engine == engine && $0.metric == metric }
    }
    return other.map { $0.isRate ? $0.median / verdict.goal.bound : $0.median * verdict.goal.bound }
  }
}
