// The section with the speed of Dugout beside each peer.

enum PeerSection {
  static func text(_ results: RunResults) -> String {
    let comparisons = results.comparisons
    guard !comparisons.isEmpty else { return "" }
    let scale = LogScale(around: comparisons.flatMap { $0.sides.map(\.factor) })
    let chart = SpeedChart.image(results).map {
      "<figure class=\"overview\">\($0.text(isAlone: false))</figure>"
    }
    let ends = scale.highText
    return """
      <section id="peers"><h2>Speed beside each peer</h2>
      <p class="quiet">The middle of a strip is equal speed. A bar to the right means that Dugout is faster, or smaller, than
      the peer. The scale is logarithmic: its ends are \(ends) slower and \(ends) faster. A thin line is the range over the
      rounds. A grey bar means that the ranges overlap, so neither side is clearly faster.</p>
      \(chart ?? "")
      <div class="operations">\(comparisons.map { operation($0, scale) }.joined(separator: "\n"))</div></section>
      """
  }

  private static func operation(_ comparison: Comparison, _ scale: LogScale) -> String {
    let ours = comparison.ours
    let lines = comparison.sides.map { side(comparison, $0, scale) }
    let limit = comparison.limit.map { row in
      "<p class=\"limit\">Limit: \(row.peer?.title ?? row.engine.escaped) visits the fields in place in "
        + "\(Quantity.text(row.median, row.metric)), and builds no objects.</p>"
    }
    return """
      <article><h3><a href="#\(comparison.workload)">\(comparison.workload)</a> \(comparison.title.escaped)</h3>
      <p class="own"><b>Dugout</b> \(Quantity.text(ours.median, ours.metric))</p>
      \(lines.joined())\(limit ?? "")</article>
      """
  }

  private static func side(_ comparison: Comparison, _ side: Comparison.Side, _ scale: LogScale) -> String {
    let outcome = side.outcome.rawValue
    let range = side.range.map { range in
      Gauge.mark("range", from: scale.position(range.lowerBound), to: scale.position(range.upperBound))
    }
    let bar = Gauge.mark("bar \(outcome)", from: scale.position(1), to: scale.position(side.factor))
    let value = Quantity.text(side.row.median, side.row.metric)
    return """
      <p class="side"><span title="\(side.row.engine.escaped)">\(side.peer.title)</span>\
      <span class="strip">\(Gauge.mark("one", from: 0.5, to: 0.5))\(bar)\(range ?? "")</span>\
      <b class="\(outcome)">\(comparison.words(side))</b><span class="number">\(value)</span></p>
      """
  }
}

/// A horizontal strip with marks.
enum Gauge {
  /// Returns a mark from one position to another. Positions are parts of the strip, from 0 to 1.
  static func mark(_ name: String, from start: Double, to end: Double) -> String {
    let (left, width) = (min(start, end) * 100, abs(end - start) * 100)
    return
      "<i class=\"\(name)\" style=\"left:\(SVGImage.number(left))%;width:\(SVGImage.number(width))%\"></i>"
  }
}
