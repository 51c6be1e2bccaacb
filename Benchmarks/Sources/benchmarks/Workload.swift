// What a workload is, how its rounds are interleaved, and the rows that come out.

import Foundation

/// One row of the goal table, measured for several engines.
protocol Workload: SendableMetatype {
  static var name: String { get }
  static var engines: [any Engine] { get }
  /// The metric that counts, more of it being better; nil where there are no peers.
  static var rate: String? { get }
}

extension Workload {
  static var rate: String? { nil }

  /// Our time over the best peer's, by the medians of this run.
  static func ratio(_ rows: [ResultRow]) -> String? {
    let rates = rows.filter { $0.metric == rate }
    let peers = rates.filter { Peers.names.contains($0.engine) }
    guard let ours = rates.first(where: { $0.engine == "dugout" }),
      let best = peers.max(by: { $0.median < $1.median })
    else { return nil }
    return "\(name)  time, dugout / best peer (\(best.engine))  "
      + String(
        format: "%.2f (%.2f - %.2f)", best.median / ours.median, best.min / ours.max, best.max / ours.min)
  }
}

/// One way to do a workload.
protocol Engine: Sendable {
  var name: String { get }
  /// One round in a fresh directory: the values of each metric.
  func round(in directory: URL, _ options: BenchmarkOptions) throws -> [String: Double]
}

enum Rounds {
  /// Every engine once a round, in an order that changes from round to round.
  static func run(_ workload: any Workload.Type, _ options: BenchmarkOptions) throws -> [ResultRow] {
    var samples: [String: [String: [Double]]] = [:]
    for _ in 0..<options.runs {
      for engine in workload.engines.shuffled() where options.wants(engine) {
        let directory = FileManager.default.temporaryDirectory
          .appendingPathComponent("dugout-benchmark-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        for (metric, value) in try engine.round(in: directory, options) {
          samples[engine.name, default: [:]][metric, default: []].append(value)
        }
      }
    }
    return samples.sorted { $0.key < $1.key }.flatMap { engine, metrics in
      metrics.sorted { $0.key < $1.key }.map { metric, values in
        ResultRow(workload: workload.name, engine: engine, metric: metric, values: values)
      }
    }
  }
}

struct ResultRow {
  var workload: String
  var engine: String
  var metric: String
  var values: [Double]

  private var sorted: [Double] { values.sorted() }
  var median: Double { sorted[sorted.count / 2] }
  var min: Double { sorted[0] }
  var max: Double { sorted[sorted.count - 1] }

  var text: String {
    let numbers = [median, min, max].map { String(format: "%.1f", $0) }
    return "\(workload)  \(engine)  \(metric)  \(numbers[0]) (\(numbers[1]) - \(numbers[2]))"
  }

  var object: [String: Any] {
    [
      "workload": workload, "engine": engine, "metric": metric, "median": median,
      "min": min, "max": max, "runs": values.count,
    ]
  }
}
