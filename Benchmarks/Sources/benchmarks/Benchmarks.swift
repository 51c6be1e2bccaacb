// Measures the product. All engines of a workload run interleaved, round by round, in fresh directories.

import Foundation

@main
struct Benchmarks {
  static let workloads: [any Workload.Type] = [
    DurableCommits.self, EightDocumentWriters.self, LargeDocumentBatches.self, BulkLoad.self,
    IndexedUpdates.self, Listening.self, SingleWriter.self, EightWriters.self, LargeBatches.self,
    Reading.self, Layers.self,
  ]

  static func main() {
    do {
      let options = try BenchmarkOptions(Array(CommandLine.arguments.dropFirst()))
      if options.wantsHelp {
        print(BenchmarkOptions.help)
        return
      }
      let chosen = workloads.filter { options.only.isEmpty || options.only.contains($0.name) }
      let unknown = options.only.subtracting(workloads.map { $0.name })
      guard unknown.isEmpty else {
        throw BenchmarkFailure("there is no workload \(unknown.sorted().joined(separator: ", "))")
      }
      for peer in Peers.missing { say("\(peer.name) is not compared: install \(peer.package)") }
      var rows: [ResultRow] = []
      for workload in chosen {
        let measured = try Rounds.run(workload, options)
        for row in measured { print(row.text) }
        if let ratio = workload.ratio(measured) { print(ratio) }
        rows += measured
      }
      if let file = options.jsonFile {
        let data = try JSONSerialization.data(
          withJSONObject: rows.map(\.object), options: [.prettyPrinted, .sortedKeys])
        try data.write(to: URL(fileURLWithPath: file))
      }
    } catch {
      FileHandle.standardError.write(Data("benchmarks: \(error)\n".utf8))
      exit(2)
    }
  }
}

func say(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

struct BenchmarkFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
