// The chart of a metric over document counts: one curve per engine, with logarithmic axes.

import Foundation

package enum CurveChart {
  private static let left = 62.0
  private static let plot = (width: 226.0, height: 220.0)

  /// Returns one image for each metric, except for those with a small cache. `rows` belong to one workload.
  package static func images(_ rows: [ResultRow]) -> [SVGImage] {
    rows.metrics.filter { !$0.hasPrefix(Quantity.smallCache) }.compactMap { metric in
      image(metric, rows.filter { $0.metric == metric && $0.median > 0 })
    }
  }

  private static func image(_ metric: String, _ rows: [ResultRow]) -> SVGImage? {
    guard let first = rows.first else { return nil }
    var image = SVGImage(title: "\(first.workload), \(Quantity.name(of: metric)), by documents")
    let counts = Set(rows.map(\.documents)).sorted()
    let values = rows.map { log10($0.median) }
    // The axis covers whole decades.
    let (low, high) = ((values.min() ?? 0).rounded(.down), (values.max() ?? 1).rounded(.up))
    let (fewest, most) = (log10(Double(counts[0])), log10(Double(counts[counts.count - 1])))
    image.text("\(Quantity.name(of: metric)), by documents", x: 0, y: 16, isBold: true)
    image.text(
      first.isRate ? "higher is better" : "lower is better", x: image.width, y: 34, color: "quiet",
      anchor: "end", size: 12)
    let top = 46.0
    func x(_ count: Int) -> Double {
      left + plot.width * (log10(Double(count)) - fewest) / max(most - fewest, 1e-9)
    }
    func y(_ value: Double) -> Double {
      top + plot.height * (1 - (log10(value) - low) / max(high - low, 1e-9))
    }
    for decade in stride(from: low, through: high, by: 1) {
      let value = pow(10, decade)
      image.line((left, y(value)), (left + plot.width, y(value)), color: "line")
      image.text(
        Quantity.text(value, metric), x: left - 8, y: y(value) + 4, color: "quiet", anchor: "end", size: 11)
    }
    for count in counts {
      image.text(
        Quantity.count(count), x: x(count), y: top + plot.height + 18, color: "quiet", anchor: "middle",
        size: 11)
    }
    draw(
      Dictionary(grouping: rows, by: \.engine).map { engine, rows in
        let points = rows.sorted { $0.documents < $1.documents }.map { (x($0.documents), y($0.median)) }
        return (engine, points)
      }, &image)
    image.height = top + plot.height + 40
    return image
  }

  private static func draw(
    _ curves: [(engine: String, points: [(x: Double, y: Double)])], _ image: inout SVGImage
  ) {
    let others = curves.map(\.engine).filter { !$0.hasPrefix("dugout") }.sorted()
    // Names are at the ends of their curves, and do not overlap.
    var lastY = -1e9
    for curve in curves.sorted(by: { ($0.points.last?.y ?? 0) < ($1.points.last?.y ?? 0) }) {
      guard let end = curve.points.last else { continue }
      let isOurs = curve.engine.hasPrefix("dugout")
      let color = isOurs ? "ours" : others.firstIndex(of: curve.engine).map { "c\($0 % 6 + 1)" } ?? "limit"
      image.curve(curve.points, color: color, width: isOurs ? 3 : 1.6, note: curve.engine)
      lastY = max(end.y + 4, lastY + 14)
      image.text(curve.engine, x: left + plot.width + 10, y: lastY, color: color, size: 11, isBold: isOurs)
    }
  }
}
