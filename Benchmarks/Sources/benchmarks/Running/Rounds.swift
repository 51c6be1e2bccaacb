// Runs every engine once per round, in an order that changes from round to round.

import BenchmarkReports
import Foundation

enum Rounds {
  static func run(_ workload: any Workload.Type, _ context: RunContext, _ root: URL) throws -> [ResultRow] {
    var samples: [String: [String: [Double]]] = [:]
    var names: [String] = []
    let engines = workload.engines.filter { context.options.wants($0.name) }
    let runs = workload.runsOnce ? 1 : context.options.runs
    for run in 0..<runs {
      for (turn, engine) in engines.shuffled().enumerated() {
        Progress.step(
          "\(workload.name) \(workload.title), round \(run + 1) of \(runs), \(engine.name)",
          done: run * engines.count + turn, of: runs * engines.count)
        let directory = root.appendingPathComponent("round-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        for (metric, value) in try engine.round(in: directory, context) {
          samples[engine.name, default: [:]][metric, default: []].append(value)
        }
      }
    }
    Progress.clear()
    names = engines.map(\.name)
    return names.flatMap { engine in
      let metrics = (samples[engine] ?? [:]).sorted {
        $0.key.compare($1.key, options: .numeric) == .orderedAscending
      }
      return metrics.map { metric, values in
        ResultRow(
          workload: workload.name, engine: engine, metric: metric, values: values,
          documents: context.options.documents)
      }
    }
  }
}
