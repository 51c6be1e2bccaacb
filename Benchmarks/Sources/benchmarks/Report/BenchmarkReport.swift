// The results of a run.

import Foundation

struct BenchmarkReport {
  let machine: Machine
  let options: BenchmarkOptions
  let start: Date
  var seconds = 0.0
  private(set) var rows: [ResultRow] = []
  private(set) var verdicts: [Verdict] = []

  init(_ machine: Machine, _ options: BenchmarkOptions, _ start: Date) {
    self.machine = machine
    self.options = options
    self.start = start
  }

  mutating func add(_ rows: [ResultRow], _ verdicts: [Verdict]) {
    self.rows += rows
    self.verdicts += verdicts
  }

  /// The command line that repeats the run.
  var command: String {
    var words = ["swift run -c release --package-path Benchmarks benchmarks"]
    if !options.only.isEmpty { words.append("--only \(options.only.sorted().joined(separator: ","))") }
    words.append(
      options.scale.isEmpty
        ? "--documents \(options.documents)"
        : "--scale \(options.scale.map(String.init).joined(separator: ","))")
    words.append("--runs \(options.runs)")
    if let peers = options.peers { words.append("--peers \(peers.sorted().joined(separator: ","))") }
    if options.directory != BenchmarkOptions.standardDirectory {
      words.append("--directory \(options.directory)")
    }
    return words.joined(separator: " ")
  }

  var closingTable: String {
    let met = verdicts.filter(\.isMet).count
    let lines = verdicts.map { verdict in
      let documents = options.scale.isEmpty ? "" : "\(Quantity.count(verdict.documents)) documents, "
      return
        "\(verdict.isMet ? "✓" : "✗") \(verdict.workload.padded(to: 5))\(documents)\(TextTable.sentence(verdict))"
    }
    return (["\(met) of \(verdicts.count) goals met in \(Quantity.digits(seconds)) s"] + lines)
      .joined(separator: "\n")
  }

  var json: Data {
    get throws {
      let run: [String: Any] = [
        "run": [
          "date": date, "command": command, "seconds": seconds, "machine": machine.object,
          "cold_open": ColdOpen.way,
          "missing": Engines.missing.map(\.name),
          "engines": Dictionary(uniqueKeysWithValues: Engines.settings.map { ($0.name, $0.text) }),
        ]
      ]
      return try JSONSerialization.data(
        withJSONObject: rows.map(\.object) + verdicts.map(\.object) + [run],
        options: [.prettyPrinted, .sortedKeys])
    }
  }

  var date: String {
    let formatter = ISO8601DateFormatter()
    return formatter.string(from: start)
  }

  func write(to directory: URL) throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    func write(_ text: String, _ name: String) throws {
      try text.write(to: directory.appendingPathComponent(name), atomically: true, encoding: .utf8)
    }
    for chart in charts { try write(chart.image.text(isAlone: true), "\(chart.name).svg") }
    try write(ReportPage(self).text, "index.html")
    try write(MarkdownTable.text(self), "results.md")
  }

  /// One bar chart per workload, and also one curve chart per workload if the run has several document
  /// counts.
  var charts: [Chart] {
    var charts: [Chart] = []
    for workload in Benchmarks.workloads {
      let name = workload.name
      let rows = rows.filter { $0.workload == name }
      guard let largest = rows.map(\.documents).max() else { continue }
      let bars = BarChart.image(
        rows.filter { $0.documents == largest },
        verdicts.filter { $0.workload == name && $0.documents == largest })
      charts.append(Chart(workload: name, title: workload.title, name: name, image: bars))
      guard Set(rows.map(\.documents)).count > 1 else { continue }
      charts.append(
        Chart(workload: name, title: workload.title, name: "\(name)-curves", image: CurveChart.image(rows)))
    }
    return charts
  }

  struct Chart {
    var workload: String
    var title: String
    /// The file name.
    var name: String
    var image: SVGImage
  }
}

/// The results as a table for the documentation.
enum MarkdownTable {
  static func text(_ report: BenchmarkReport) -> String {
    var lines = ["Run on \(report.date):", "", "```sh", report.command, "```", ""]
    lines += report.machine.lines.map { "- \($0.name): \($0.text)" }
    lines += Engines.missing.map { "- \($0.name): not installed, not compared (\($0.package))" }
    lines += [
      "", "| row | what | ours | best peer | ratio | goal | met |",
      "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for verdict in report.verdicts {
      let ours = median(report, verdict.goal.engine, verdict.goal.metric, verdict)
      var peer = "–"
      if let name = verdict.bestPeer, case .toBestPeer(let metric) = verdict.goal.measure {
        peer = "\(name) \(median(report, name, metric, verdict))"
      }
      lines.append(
        "| \(verdict.workload) | \(verdict.goal.title) | \(ours) | \(peer) | \(TextTable.value(verdict.value, verdict)) | "
          + "\(TextTable.value(verdict.goal.bound, verdict)) | \(verdict.isMet ? "yes" : "no") |")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func median(
    _ report: BenchmarkReport, _ engine: String, _ metric: String, _ verdict: Verdict
  ) -> String {
    let row = report.rows.first {
      $0.workload == verdict.workload && $0.engine == engine && $0.metric == metric
        && $0.documents == verdict.documents
    }
    return row.map { Quantity.text($0.median, metric) } ?? "–"
  }
}
