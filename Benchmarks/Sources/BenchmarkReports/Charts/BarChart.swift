// The bar chart of a metric: one bar per engine, under its name and its value, with a line from the minimum
// to the maximum. Other lines mark the goal and the limits. The chart is so narrow that a phone shows it in
// full size.

package enum BarChart {
  private static let step = 34.0

  /// Returns one image for each metric. `rows` and `verdicts` belong to one workload and one document count.
  package static func images(_ rows: [ResultRow], _ verdicts: [Verdict]) -> [SVGImage] {
    rows.metrics.compactMap { metric in
      image(
        metric, rows.filter { $0.metric == metric }.ranked,
        verdicts.filter { $0.goal.metric == metric }.flatMap { marks(of: $0, rows) })
    }
  }

  /// A vertical line with a note below the bars.
  private struct Mark {
    var name: String
    var value: Double
    var color: String
  }

  private static func image(_ metric: String, _ rows: [ResultRow], _ goals: [Mark]) -> SVGImage? {
    let bars = rows.filter { !$0.isLimit }
    guard let first = bars.first else { return nil }
    let marks = goals + rows.filter(\.isLimit).map { Mark(name: $0.engine, value: $0.median, color: "limit") }
    // A distant mark would make the bars too short. Such a mark is printed instead of drawn.
    let reach = bars.map(\.max).max() ?? 1
    let largest = marks.map(\.value).filter { $0 <= reach * 2 }.reduce(reach, max)
    var image = SVGImage(title: "\(first.workload), \(Quantity.name(of: metric))")
    let width = image.width
    func place(_ value: Double) -> Double { width * min(value, largest) / max(largest, 1e-12) }

    image.text(Quantity.name(of: metric), x: 0, y: 16, isBold: true)
    image.text(
      first.isRate ? "longer is better" : "shorter is better", x: image.width, y: 16, color: "quiet",
      anchor: "end", size: 12)
    let top = 24.0
    let bottom = top + step * Double(bars.count)
    for mark in marks where mark.value <= largest {
      image.line(
        (place(mark.value), top), (place(mark.value), bottom), color: mark.color, width: 1.5,
        dash: mark.color == "limit" ? "4 3" : "")
    }
    for (index, row) in bars.enumerated() {
      draw(row, y: top + step * Double(index), place: place, &image)
    }
    for (index, mark) in marks.enumerated() {
      let note = "\(mark.name) \(Quantity.text(mark.value, metric))"
      image.text(
        mark.value <= largest ? note : "\(note), outside", x: 0, y: bottom + 14 + 16 * Double(index),
        color: mark.color, size: 12)
    }
    image.height = bottom + 16 * Double(marks.count) + 12
    return image
  }

  private static func draw(
    _ row: ResultRow, y: Double, place: (Double) -> Double, _ image: inout SVGImage
  ) {
    let numbers = [row.median, row.min, row.max].map { Quantity.text($0, row.metric) }
    let color = row.isOurs ? "ours" : "ink"
    image.bar(
      x: 0, y: y + 20, width: place(row.median), height: 8, color: row.isOurs ? "ours" : "peer",
      note: "\(row.engine): \(numbers[0]), from \(numbers[1]) to \(numbers[2])")
    if row.max > row.min {
      image.line((place(row.min), y + 24), (place(row.max), y + 24), color: "ink")
    }
    image.text(row.engine, x: 0, y: y + 15, color: color, isBold: row.isOurs)
    image.text(numbers[0], x: image.width, y: y + 15, color: color, anchor: "end", isBold: row.isOurs)
  }

  /// Returns the goal as a value of the metric, and the limit of the peers. `rows` are the rows of all
  /// metrics.
  private static func marks(of verdict: Verdict, _ rows: [ResultRow]) -> [Mark] {
    let other: ResultRow?
    var marks: [Mark] = []
    switch verdict.goal.measure {
    case .absolute: return [Mark(name: "goal", value: verdict.goal.bound, color: "goal")]
    case .toBestPeer(let metric):
      other = rows.first { $0.engine == verdict.bestPeer && $0.metric == metric }
    case .toOwn(let engine, let metric): other = rows.first { $0.engine == engine && $0.metric == metric }
    }
    if let other {
      let bound = verdict.goal.bound
      marks.append(
        Mark(name: "goal", value: other.isRate ? other.median / bound : other.median * bound, color: "goal"))
    }
    if let metric = verdict.goal.limitMetric, let best = rows.filter({ $0.metric == metric }).bestPeer {
      marks.append(
        Mark(
          name: "limit: fields visited in \(best.peer?.title ?? best.engine), no objects", value: best.median,
          color: "limit"))
    }
    return marks
  }
}
