// W1, W2: durable commits of one document, with three indexes, into an empty store. For curves over
// document counts, the store already holds that many documents.
//
//   W1   from one thread. The device limit overwrites one page of an existing file and syncs it
//   W2   from eight threads, and from 64 asynchronous writers. The device limit writes such pages from eight
//        threads

import BenchmarkReports
import DocumentStore
import Foundation
import SampleDocuments

enum SingleCommits: Workload {
  static let name = "W1"
  static let title = "durable commits of one document, one writer"
  static var engines: [any Engine] {
    Engines.all.map { CommitRound(type: $0, threads: 1) } + [DeviceWrites(count: 5000)]
  }
  static let goals = [
    Goal.ratio("durable commits of one document, one writer", "commits_per_s", 0.6)
      .summarized(as: "commit, one writer")
  ]
}

enum EightWriters: Workload {
  static let name = "W2"
  static let title = "durable commits of one document, eight writers"
  static var engines: [any Engine] {
    Engines.all.map { CommitRound(type: $0, threads: 8) } + [
      WaitingWriters(), DeviceWrites(count: 20_000, threads: 8),
    ]
  }
  static let goals = [
    Goal.ratio("durable commits of one document, eight writers", "commits_per_s", 0.5)
      .summarized(as: "commit, eight writers"),
    Goal(
      title: "64 async writers, relative to eight threads of Dugout", engine: WaitingWriters.name,
      metric: "commits_per_s", measure: .toOwn(engine: "dugout", metric: "commits_per_s"), bound: 0.2),
  ]
}

private struct CommitRound: Engine {
  var type: any DocumentEngine.Type
  var threads: Int
  var name: String { type.name }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    // A local copy, because the compiler cannot open the existential type of a property.
    let database = type
    return try measured(database, directory, context)
  }

  /// Measures so many commits that the first log files, which are small, are only a part of the run.
  private func measured<Database: DocumentEngine>(
    _ type: Database.Type, _ directory: URL, _ context: RunContext
  ) throws -> [String: Double] {
    let count = min(context.options.documents, threads == 1 ? 5000 : 20_000)
    let (engine, held) = try context.storeForWrites(of: type, in: directory)
    let writes = try (held..<held + count).map { try type.writes([$0]) }
    let times = try CommitTimes.measure(count, threads: threads) { try engine.write(writes[$0]) }
    try context.check(engine, holds: count, above: held, "what \(threads) threads wrote", of: name)
    try engine.close()
    return times
  }
}

private struct WaitingWriters: Engine {
  static let name = "dugout, 64 async"
  var name: String { Self.name }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    let (engine, held) = try context.storeForWrites(of: DugoutDocuments.self, in: directory)
    let writes = try (held..<held + min(context.options.documents, 100_000)).map { number in
      try DugoutDocuments.writes([number])[0]
    }
    let writers = AsyncWriters(engine.store, writes)
    let time = ContinuousClock().measure { writers.run(64) }
    let count = held + writes.count
    let expected = (0..<count).reduce(0) { $0 &+ SampleDocument($1).weight }
    guard try engine.scan() == expected else {
      throw BenchmarkFailure("\(name) does not hold the written data")
    }
    try engine.requireInIndexes(held..<count)
    try engine.close()
    return ["commits_per_s": Double(writes.count) / (time / .seconds(1))]
  }
}
