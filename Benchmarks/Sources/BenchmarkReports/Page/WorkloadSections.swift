// The sections of the workloads, with charts and numbers.

enum WorkloadSections {
  static func text(_ results: RunResults) -> String {
    results.workloads.map { section($0, results) }.joined(separator: "\n")
  }

  private static func section(_ workload: RunFacts.Title, _ results: RunResults) -> String {
    let figures = WorkloadCharts.images(workload.name, results).map {
      "<figure>\($0.text(isAlone: false))</figure>"
    }
    return """
      <section id="\(workload.name)"><h2><span class="row">\(workload.name)</span> \(workload.title.escaped)</h2>
      <div class="charts">\(figures.joined())</div>
      \(numbers(results.rows.filter { $0.workload == workload.name }, results.facts))</section>
      """
  }

  private static func numbers(_ rows: [ResultRow], _ facts: RunFacts) -> String {
    let titles = ["Median", "Least", "Most"] + (facts.isScale ? ["Documents"] : [])
    let lines = rows.map { row in
      let values = [row.median, row.min, row.max].map { Quantity.text($0, row.metric) }
      let cells = values + (facts.isScale ? [Quantity.grouped(row.documents)] : [])
      return "<tr><td>\(row.engine.escaped)</td><td>\(Quantity.name(of: row.metric).escaped)</td>"
        + cells.map { "<td class=\"number\">\($0)</td>" }.joined() + "</tr>"
    }
    return """
      <details><summary>Numbers</summary><div class="scroll"><table><thead><tr><th>Engine</th><th>Metric</th>
      \(titles.map { "<th class=\"number\">\($0)</th>" }.joined())</tr></thead>
      <tbody>\(lines.joined())</tbody></table></div></details>
      """
  }
}

/// The charts of one workload.
enum WorkloadCharts {
  /// Returns the bar charts of the largest stores. A run with several document counts has curves, too.
  static func images(_ workload: String, _ results: RunResults) -> [SVGImage] {
    let rows = results.rows.filter { $0.workload == workload }
    guard let largest = rows.map(\.documents).max() else { return [] }
    let verdicts = results.verdicts.filter { $0.workload == workload && $0.documents == largest }
    let bars = BarChart.images(rows.filter { $0.documents == largest }, verdicts)
    return bars + (Set(rows.map(\.documents)).count > 1 ? CurveChart.images(rows) : [])
  }

  /// Returns one image with all charts of the workload.
  static func image(_ workload: RunFacts.Title, _ results: RunResults) -> SVGImage {
    var all = SVGImage(title: "\(workload.name): \(workload.title)")
    for image in images(workload.name, results) { all.append(image) }
    return all
  }
}
