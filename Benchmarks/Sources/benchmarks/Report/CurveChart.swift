// The chart of a workload over document counts: one curve per engine, with logarithmic axes.

import Foundation

enum CurveChart {
  private static let left = 80.0
  private static let plot = (width: 500.0, height: 240.0)

  static func image(_ rows: [ResultRow]) -> SVGImage {
    var image = SVGImage(title: "\(rows.first?.workload ?? "") by documents", height: 10)
    for metric in TextTable.metrics(rows) where !metric.hasPrefix("eighth") {
      draw(metric, rows.filter { $0.metric == metric && $0.median > 0 }, &image)
    }
    return image
  }

  private static func draw(_ metric: String, _ rows: [ResultRow], _ image: inout SVGImage) {
    guard let first = rows.first else { return }
    let counts = Set(rows.map(\.documents)).sorted()
    let values = rows.map { log10($0.median) }
    // The axis covers whole decades.
    let (low, high) = ((values.min() ?? 0).rounded(.down), Swift.max((values.max() ?? 1).rounded(.up), 1e-9))
    let (fewest, most) = (log10(Double(counts[0])), log10(Double(counts[counts.count - 1])))
    image.text(Quantity.name(of: metric), x: 0, y: image.height + 16, isBold: true)
    image.text(
      first.isRate ? "higher is better" : "lower is better", x: image.width, y: image.height + 16,
      color: "quiet",
      anchor: "end", size: 11)
    let top = image.height + 30
    func x(_ count: Int) -> Double {
      left + plot.width * (log10(Double(count)) - fewest) / Swift.max(most - fewest, 1e-9)
    }
    func y(_ value: Double) -> Double {
      top + plot.height * (1 - (log10(value) - low) / Swift.max(high - low, 1e-9))
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
        (engine, rows.sorted { $0.documents < $1.documents }.map { (x($0.documents), y($0.median)) })
      }, &image)
    image.height = top + plot.height + 40
  }

  private static func draw(
    _ curves: [(engine: String, points: [(x: Double, y: Double)])], _ image: inout SVGImage
  ) {
    let names = Engines.all.map { $0.name }
    // Names are at the ends of their curves, and do not overlap.
    var lastY = -1e9
    for curve in curves.sorted(by: { ($0.points.last?.y ?? 0) < ($1.points.last?.y ?? 0) }) {
      guard let end = curve.points.last else { continue }
      let isOurs = curve.engine.hasPrefix("dugout")
      let place = names.firstIndex(of: curve.engine)
      let color = isOurs ? "ours" : place.map { "c\(($0 - 1) % 6 + 1)" } ?? "limit"
      image.curve(curve.points, color: color, width: isOurs ? 3 : 1.6, note: curve.engine)
      lastY = Swift.max(end.y + 4, lastY + 14)
      image.text(curve.engine, x: left + plot.width + 14, y: lastY, color: color, size: 11, isBold: isOurs)
    }
  }
}
