// Measures the product. All engines of a workload run interleaved, round by round, in fresh directories.

import Foundation

@main
struct Benchmarks {
  static let workloads: [any Workload.Type] = [DurableCommits.self]

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
      var rows: [ResultRow] = []
      for workload in chosen {
        let measured = try Rounds.run(workload, options)
        for row in measured { print(row.text) }
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

struct BenchmarkFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

struct BenchmarkOptions {
  var only: Set<String> = []
  var documents = 100_000
  var runs = 5
  var jsonFile: String?
  var wantsHelp = false

  static let help = """
    Usage: benchmarks [--only W1] [--documents 100000] [--runs 5] [--json FILE]

    W1  durable commits of one document, one writer; beside it the bare device: write a page, sync
    """

  init(_ words: [String]) throws {
    var rest = words[...]
    func value(of option: String) throws -> String {
      guard let value = rest.popFirst() else { throw BenchmarkFailure("\(option) needs a value") }
      return value
    }
    func number(of option: String) throws -> Int {
      let text = try value(of: option)
      guard let number = Int(text), number > 0 else {
        throw BenchmarkFailure("\(option) needs a positive number, not \"\(text)\"")
      }
      return number
    }
    while let word = rest.popFirst() {
      switch word {
      case "--only": only = Set(try value(of: word).split(separator: ",").map(String.init))
      case "--documents": documents = try number(of: word)
      case "--runs": runs = try number(of: word)
      case "--json": jsonFile = try value(of: word)
      case "--help", "-h": wantsHelp = true
      default: throw BenchmarkFailure("there is no option \(word)\n\(Self.help)")
      }
    }
  }
}
