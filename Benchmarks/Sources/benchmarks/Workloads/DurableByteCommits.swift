// W1b, W2b, W3b: durable commits of keys and values. What was written is read back, and must be the same
// in every engine.

import Foundation

enum SingleWriter: Workload {
  static let name = "W1b"
  static let rate: String? = "commits_per_s"
  static let engines = byteEngines(ByteRound(threads: 1, batch: 1, commitsMax: 5000))
}

enum EightWriters: Workload {
  static let name = "W2b"
  static let rate: String? = "commits_per_s"
  static let engines = byteEngines(ByteRound(threads: 8, batch: 1, commitsMax: 20_000))
}

enum LargeBatches: Workload {
  static let name = "W3b"
  static let rate: String? = "commits_per_s"
  static let engines = byteEngines(ByteRound(threads: 1, batch: 500, commitsMax: 200))
}

/// Every engine of bytes in the same round.
private func byteEngines(_ round: ByteRound) -> [any Engine] {
  var types: [any ByteEngine.Type] = [DugoutBytes.self]
  types += Peers.installed
  return types.map { ByteRoundOfEngine(type: $0, round: round) }
}

private struct ByteRound {
  var threads: Int
  var batch: Int
  var commitsMax: Int
}

private struct ByteRoundOfEngine: Engine {
  var type: any ByteEngine.Type
  var round: ByteRound

  var name: String { type.name }

  func round(in directory: URL, _ options: BenchmarkOptions) throws -> [String: Double] {
    let commits = max(round.threads, min(round.commitsMax, options.documents / round.batch))
    let entries = (0..<commits * round.batch).map(SampleDocument.entry)
    let engine = try type.init(directory)
    let times = try CommitTimes.measure(commits, threads: round.threads) { index in
      try engine.commit(entries[index * round.batch..<(index + 1) * round.batch])
    }
    for entry in entries {
      guard try engine.value(for: entry.key) == entry.value else {
        throw BenchmarkFailure("\(name) does not hold what was written")
      }
    }
    try engine.close()
    return times
  }
}
