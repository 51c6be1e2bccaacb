// The chart of all workloads, for the README and the top of the report: one line per operation, with a bar
// for the best peer and a ring for each other peer. The axis is logarithmic, and its middle is equal speed.
//
// Lengths are those of a picture of 560 points. A text of 15.5 points stays readable in a page for phones.

package enum SpeedChart {
  private static let (labelWidth, plotWidth, step) = (196.0, 190.0, 25.0)
  private static let size = 15.5

  /// Returns nil if no comparison has a short title.
  package static func image(_ results: RunResults) -> SVGImage? {
    let comparisons = results.comparisons.filter { $0.summary != nil }
    guard !comparisons.isEmpty else { return nil }
    var image = SVGImage(title: "Dugout beside the fastest peer", width: 560)
    image.description = comparisons.map(sentence).joined(separator: " ")
    head(results, &image)
    let scale = LogScale(around: comparisons.flatMap { $0.sides.map(\.factor) })
    func x(_ factor: Double) -> Double { labelWidth + plotWidth * scale.position(factor) }
    let top = image.height + 22
    let bottom = top + step * Double(comparisons.count)
    for tick in scale.ticks {
      image.line((x(tick), top), (x(tick), bottom), color: "line")
    }
    for (index, comparison) in comparisons.enumerated() {
      draw(comparison, y: top + step * Double(index), x: x, &image)
    }
    image.line((x(1), top - 4), (x(1), bottom + 4), color: "ink", width: 1.5)
    let ends = scale.highText
    image.text("Dugout slower", x: x(1) - 8, y: top - 8, color: "worse", anchor: "end", size: 14)
    image.text("faster", x: x(1) + 8, y: top - 8, color: "better", size: 14)
    image.text(ends, x: x(scale.low), y: bottom + 18, color: "quiet", anchor: "middle", size: 14)
    image.text("same", x: x(1), y: bottom + 18, color: "quiet", anchor: "middle", size: 14)
    image.text(ends, x: x(scale.high), y: bottom + 18, color: "quiet", anchor: "middle", size: 14)
    legend(comparisons, y: bottom + 44, &image)
    image.height = bottom + 58
    return image
  }

  private static func head(_ results: RunResults, _ image: inout SVGImage) {
    let facts = results.facts
    image.text("Dugout beside the fastest peer", x: 0, y: 22, size: 18, isBold: true)
    let size = "\(Quantity.grouped(facts.documentsMax)) documents"
    image.text(
      [size, facts.machine["Processor"], facts.day].compactMap { $0 }.joined(separator: ", "), x: 0, y: 44,
      color: "quiet", size: 14)
    image.height = 54
    guard let small = facts.shortfall else { return }
    image.text(small, x: 0, y: 66, color: "worse", size: 15, isBold: true)
    image.text("These numbers do not show how the engines compare.", x: 0, y: 86, color: "worse", size: 14)
    image.height = 96
  }

  private static func draw(
    _ comparison: Comparison, y: Double, x: (Double) -> Double, _ image: inout SVGImage
  ) {
    let best = comparison.best
    let color = best.outcome.rawValue
    let middle = y + step / 2
    let words = "\(comparison.words(best)), \(best.peer.title)"
    image.bar(
      x: min(x(1), x(best.factor)), y: middle - 6, width: abs(x(best.factor) - x(1)), height: 12,
      color: color,
      note: "\(comparison.title): \(words)")
    for side in comparison.sides.dropFirst() {
      image.ring(
        x: x(side.factor), y: middle, radius: 3.5, color: "quiet",
        note: "\(comparison.title): \(comparison.words(side)), \(side.peer.title)")
    }
    image.text(comparison.summary ?? "", x: 0, y: middle + 5, size: size)
    image.text(
      words, x: image.width, y: middle + 5, color: best.outcome == .even ? "quiet" : color, anchor: "end",
      size: 14)
  }

  /// Explains the marks that the chart has.
  private static func legend(_ comparisons: [Comparison], y: Double, _ image: inout SVGImage) {
    image.bar(x: 0, y: y - 10, width: 22, height: 12, color: "better", note: "a bar")
    image.text("the fastest peer", x: 30, y: y, color: "quiet", size: 14)
    if comparisons.contains(where: { $0.sides.count > 1 }) {
      image.ring(x: 169, y: y - 4, radius: 3.5, color: "quiet", note: "a ring")
      image.text("another peer", x: 182, y: y, color: "quiet", size: 14)
    }
    if comparisons.contains(where: { $0.best.outcome == .even && $0.best.factor != 1 }) {
      image.bar(x: 302, y: y - 10, width: 22, height: 12, color: "even", note: "a grey bar")
      image.text("the ranges of both overlap", x: 332, y: y, color: "quiet", size: 14)
    }
  }

  private static func sentence(_ comparison: Comparison) -> String {
    "\(comparison.title): \(comparison.words(comparison.best)), \(comparison.best.peer.title)."
  }
}
