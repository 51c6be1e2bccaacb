// W3, W4, W14: batches of documents, with three indexes.
//
//   W3   durable batches of 500 into an empty store. The data fits into logs and memtables, so only SQLite
//        and LMDB move it to its final place during the run. W4 measures this move for all engines. For
//        curves over document counts, the store already holds that many documents
//   W4   a bulk load; at its end the data is compressed, indexed and durable
//   W14  updates of an indexed field in durable batches of 500, spread over a store with all documents

import BenchmarkReports
import Foundation

enum DurableBatches: Workload {
  static let name = "W3"
  static let title = "durable batches of 500 documents"
  /// The engines, and the device alone as their limit. The device writes and syncs as many bytes as the
  /// documents have, 350 bytes each.
  static var engines: [any Engine] {
    Engines.all.map { BatchRound(type: $0) } + [
      DeviceWrites(count: 200, byteCount: 43 * 4096, counted: ("docs_per_s", 500))
    ]
  }
  static let goals = [
    Goal.ratio("durable batches of 500 documents", "docs_per_s", 0.4).summarized(as: "batch of 500")
  ]
}

enum BulkLoad: Workload {
  static let name = "W4"
  static let title = "load, ending compressed, indexed and durable"
  static var engines: [any Engine] { Engines.all.map { LoadRound(type: $0) } }
  static let goals = [
    Goal.ratio("bulk load, compressed and indexed at its end", "docs_per_s", 0.4).summarized(as: "bulk load")
  ]
}

enum IndexedUpdates: Workload {
  static let name = "W14"
  static let title = "updates of an indexed field in batches of 500"
  static var engines: [any Engine] { Engines.all.map { UpdateRound(type: $0) } }
  static let goals = [
    Goal.ratio("updates of an indexed field, batches of 500", "docs_per_s", 0.2)
      .summarized(as: "update, indexed field")
  ]
}

private struct BatchRound: Engine {
  var type: any DocumentEngine.Type
  var name: String { type.name }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    // A local copy, because the compiler cannot open the existential type of a property.
    let database = type
    return try measured(database, directory, context)
  }

  private func measured<Database: DocumentEngine>(
    _ type: Database.Type, _ directory: URL, _ context: RunContext
  ) throws -> [String: Double] {
    let count = min(context.options.documents, 100_000) / 500 * 500
    let (engine, held) = try context.storeForWrites(of: type, in: directory)
    let batches = try stride(from: held, to: held + count, by: 500).map {
      try type.writes(Array($0..<$0 + 500))
    }
    let time = try ContinuousClock().measure { for batch in batches { try engine.write(batch) } }
    try context.check(engine, holds: count, above: held, "what batches wrote", of: name)
    try engine.close()
    return ["docs_per_s": Double(count) / (time / .seconds(1))]
  }
}

private struct LoadRound: Engine {
  var type: any DocumentEngine.Type
  var name: String { type.name }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    // A local copy, because the compiler cannot open the existential type of a property.
    let database = type
    return try measured(database, directory, context)
  }

  /// Prepares the writes before the timed part, a million documents at a time.
  private func measured<Database: DocumentEngine>(
    _ type: Database.Type, _ directory: URL, _ context: RunContext
  ) throws -> [String: Double] {
    let count = context.options.documents
    let time = try type.load(count, in: directory, window: 1_000_000)
    let engine = try type.init(directory, EngineSetup(cacheBytes: context.options.cacheBytes))
    try context.answers.note("a load", try engine.scan(), of: name)
    try context.answers.note("in order, a load", try engine.weightOfOrderedAnswers(count), of: name)
    try engine.close()
    return ["docs_per_s": Double(count) / (time / .seconds(1))]
  }
}

private struct UpdateRound: Engine {
  var type: any DocumentEngine.Type
  var name: String { type.name }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    // A local copy, because the compiler cannot open the existential type of a property.
    let database = type
    return try measured(database, directory, context)
  }

  private func measured<Database: DocumentEngine>(
    _ type: Database.Type, _ directory: URL, _ context: RunContext
  ) throws -> [String: Double] {
    let documents = context.options.documents
    let count = min(documents / 2, 50_000) / 500 * 500
    // Updates different users, spread over the whole store.
    let batches = try stride(from: 0, to: count, by: 500).map { start in
      try type.updates(
        (start..<start + 500).map { $0 &* 15_485_863 % (documents / 2) * 2 }, revision: 1)
    }
    try context.stores.copy(of: type, to: directory)
    let engine = try type.init(directory, EngineSetup(cacheBytes: context.options.cacheBytes))
    // Loads the documents and index pages that the updates read.
    _ = try engine.scan()
    _ = try engine.byScore(from: 0, limit: documents)
    let time = try ContinuousClock().measure { for batch in batches { try engine.update(batch) } }
    try context.answers.note("updated documents", try engine.scan(), of: name)
    try context.answers.note(
      "the order after updates", try engine.weightOfOrderedAnswers(documents), of: name)
    try engine.close()
    return ["docs_per_s": Double(count) / (time / .seconds(1))]
  }
}
