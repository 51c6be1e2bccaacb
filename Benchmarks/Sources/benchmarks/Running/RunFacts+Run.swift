// The circumstances of a run that is about to start.

import BenchmarkReports
import Foundation

extension RunFacts {
  init(_ options: BenchmarkOptions, start: Date) {
    self.init(
      date: ISO8601DateFormatter().string(from: start), command: options.command,
      documents: options.scale.isEmpty ? [options.documents] : options.scale, rounds: options.runs)
    isOptimised = Machine.isOptimised
    machine = Machine(options.directory).facts
    coldOpen = ColdOpen.way
    missing = Engines.missing.map(\.rawValue).filter(options.wants)
    engines = Dictionary(Engines.settings.map { ($0.name, $0.text) }) { first, _ in first }
    workloads = Benchmarks.workloads.map { RunFacts.Title(name: $0.name, title: $0.title) }
  }
}

extension BenchmarkOptions {
  /// The command line that repeats the run.
  var command: String {
    var words = ["swift run -c release --package-path Benchmarks benchmarks"]
    if !only.isEmpty { words.append("--only \(only.sorted().joined(separator: ","))") }
    words.append(
      scale.isEmpty
        ? "--documents \(documents)" : "--scale \(scale.map(String.init).joined(separator: ","))")
    words.append("--runs \(runs)")
    if let peers { words.append("--peers \(peers.sorted().joined(separator: ","))") }
    if directory != Self.standardDirectory { words.append("--directory \(directory)") }
    return words.joined(separator: " ")
  }
}
