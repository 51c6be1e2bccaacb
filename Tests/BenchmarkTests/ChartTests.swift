// The charts: they contain what they should, and every text fits and is large enough to read.

import Foundation
import Testing

@Suite struct ChartTests {
  @Test func barChartsHaveABarForEachEngineAndNamedMarks() throws {
    let texts = try DrawnText.all(in: bars("W1")).map(\.text)
    #expect(texts.prefix(2) == ["commits per second", "longer is better"])
    #expect(texts.contains("dugout") && texts.contains("leveldb") && texts.contains("sqlite-json"))
    #expect(texts.suffix(2) == ["goal 8.17 k/s", "limit: device 8.00 k/s"])
  }

  @Test func rowsThatBuildObjectsShowTheWalkAsTheLimit() throws {
    let texts = try DrawnText.all(in: bars("W5")).map(\.text)
    #expect(texts.contains("limit: fields visited in LMDB, no objects 2.00 µs"))
  }

  @Test func aDistantMarkIsNamedButDoesNotShortenTheBars() throws {
    let rows = [row("dugout", 1), row("lmdb", 2)]
    let goal = Goal(title: "get", metric: "get_ns", measure: .absolute, bound: 500)
    let verdict = try #require(Verdict("W5", goal, rows))
    let image = try #require(BarChart.images(rows, [verdict]).first).text(isAlone: false)
    #expect(try DrawnText.all(in: image).last?.text == "goal 500 ns, outside")
    #expect(image.contains(#"width="400" height="8""#))
  }

  /// A phone with 420 points shows a chart in 388 of them.
  @Test func chartsOfWorkloadsAreReadableOnAPhone() throws {
    for name in ["W1", "W4", "W5"] {
      try expectReadable(bars(name), pointsOnScreen: 388)
    }
  }

  @Test func curvesNameEachEngineOnce() throws {
    let rows = [1000, 1_000_000].flatMap { count in
      ["dugout", "lmdb", "sqlite-generated"].map { row($0, Double(count) / 10, documents: count) }
    }
    let image = try #require(CurveChart.images(rows).first).text(isAlone: false)
    let texts = try DrawnText.all(in: image)
    try expectReadable(image, pointsOnScreen: 388)
    #expect(texts.count { $0.text == "sqlite-generated" } == 1)
    let names = texts.filter { ["dugout", "lmdb", "sqlite-generated"].contains($0.text) }.map(\.y).sorted()
    #expect(zip(names, names.dropFirst()).allSatisfy { $1 - $0 >= 11 })
  }

  // MARK: The chart of all workloads

  @Test func theSpeedChartHasALineForEachSummarizedGoal() throws {
    let texts = try DrawnText.all(in: speed(SampleRun.results())).map(\.text)
    #expect(
      texts.prefix(2) == [
        "Dugout beside the fastest peer", "1,000,000 documents, Sample CPU, 2 cores, 2026-03-04",
      ])
    for words in [
      "commit", "1.02 × faster, LevelDB", "bulk load", "38 × slower, RocksDB", "2.0 × faster, LMDB",
    ] {
      #expect(texts.contains(words), "\(words)")
    }
    #expect(!texts.contains { $0.hasPrefix("Small run") })
  }

  @Test func theLegendExplainsOnlyMarksOfTheChart() throws {
    let marks = ["the fastest peer", "another peer", "the ranges of both overlap"]
    let all = try DrawnText.all(in: speed(SampleRun.results())).map(\.text)
    #expect(marks.allSatisfy(all.contains))
    var load = RunResults(SampleRun.results().facts)
    load.add(
      SampleRun.results().rows, SampleRun.results().verdicts.filter { $0.workload == "W4" })
    let few = try DrawnText.all(in: speed(load)).map(\.text)
    #expect(marks.filter(few.contains) == ["the fastest peer"])
  }

  @Test func theSpeedChartOfASmallRunSaysSo() throws {
    let texts = try DrawnText.all(in: speed(SampleRun.results(documents: 10_000, rounds: 2))).map(\.text)
    #expect(texts.contains("Small run: 10,000 documents, 2 rounds."))
  }

  @Test func aChartWithoutAComparisonIsRefused() {
    let results = RunResults(SampleRun.results().facts)
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("never-written.svg")
    #expect(throws: NothingToCompare.self) { try ReportFiles.writeChart(results, to: file) }
  }

  @Test func anImageOfItsOwnNeedsNoPage() throws {
    let svg = try speed(SampleRun.results())
    #expect(!svg.contains("var(--"))
    #expect(svg.contains("prefers-color-scheme:dark"))
    let classes = Set(
      svg.matches(of: try Regex(#"class="([^"]+)""#)).flatMap {
        ($0.output[1].substring ?? "").split(separator: " ")
      })
    #expect(!classes.isEmpty)
    for name in classes { #expect(svg.contains(".\(name){"), "\(name) has no colour") }
  }

  // MARK: The stored results

  @Test func theChartOfTheReadmeShowsTheStoredResults() throws {
    let chart = try Repository.text("docs/pictures/benchmarks.svg")
    #expect(
      try speed(Repository.results()) == chart,
      "docs/pictures/benchmarks.svg is not the chart of docs/benchmarks/results.json: make it with --from")
  }

  @Test func theStoredResultsAreThoseOfAFullRun() throws {
    let facts = try Repository.results().facts
    #expect(facts.shortfall == nil)
    #expect(facts.isOptimised)
  }

  @Test func theChartOfTheReadmeIsReadable() throws {
    try expectReadable(Repository.text("docs/pictures/benchmarks.svg"), pointsOnScreen: 560)
    try expectReadable(speed(SampleRun.results(documents: 10_000)), pointsOnScreen: 560)
  }

  @Test func performanceCountsTheGoalsOfTheStoredResults() throws {
    let verdicts = try Repository.results().verdicts
    let words = "it met \(verdicts.count { $0.isMet }) of its \(verdicts.count) goals"
    let page = try Repository.text("docs/performance.md").split(whereSeparator: \.isWhitespace)
    #expect(page.joined(separator: " ").contains(words), "docs/performance.md does not say \"\(words)\"")
  }

  /// Every text fits into the image and has at least 10.5 points on the screen, and texts in one line do
  /// not touch.
  private func expectReadable(_ svg: String, pointsOnScreen: Double) throws {
    let box = try DrawnText.viewBox(svg)
    let texts = try DrawnText.all(in: svg)
    #expect(!texts.isEmpty)
    for text in texts {
      #expect(box.lowerBound <= text.range.lowerBound && text.range.upperBound <= box.upperBound, "\(text)")
      #expect(text.size * pointsOnScreen / (box.upperBound - box.lowerBound) >= 10.5, "\(text)")
    }
    for line in Dictionary(grouping: texts, by: \.y).values {
      let ranges = line.map(\.range).sorted { $0.lowerBound < $1.lowerBound }
      #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }, "\(line)")
    }
  }

  private func bars(_ workload: String) throws -> String {
    let results = SampleRun.results()
    let title = try #require(results.workloads.first { $0.name == workload })
    return WorkloadCharts.image(title, results).text(isAlone: false)
  }

  private func speed(_ results: RunResults) throws -> String {
    try #require(SpeedChart.image(results)).text(isAlone: true)
  }

  private func row(_ engine: String, _ value: Double, documents: Int = 1) -> ResultRow {
    ResultRow(workload: "W5", engine: engine, metric: "get_ns", values: [value], documents: documents)
  }
}

/// Files of this repository.
private enum Repository {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  static func results() throws -> RunResults {
    try RunResults(json: Data(text("docs/benchmarks/results.json").utf8))
  }
}
