// W2, W3, W4 and W14: documents written, with the indexes that their readers need.
//
//   W2   durable commits of one document from eight threads; beside it 64 writers that wait without a thread
//   W3   durable batches of 500, with three indexes
//   W4   a load that ends compressed, indexed and durable
//   W14  updates of an indexed field in batches of 500
//
// Stores of keys and values get the same bytes: a document, and a key for each index. In W14 they do not remove the
// index's old keys, which is to their advantage.

import DocumentStore
import Foundation

/// Writes the sample documents, with three indexes on them.
protocol DocumentWriter: SendableMetatype {
  static var name: String { get }
  init(_ directory: URL) throws
  /// In one durable commit.
  func write(_ numbers: Range<Int>) throws
  /// All of it, and then compressed and indexed.
  func load(_ count: Int) throws
  /// Another score for each, in one durable commit.
  func update(_ numbers: Range<Int>, score: Double) throws
  func close() throws
}

enum LargeDocumentBatches: Workload {
  static let name = "W3"
  static let rate: String? = "documents_per_s"
  static var engines: [any Engine] { documentWriters { WriterRound(kind: .batches, type: $0) } }
}

enum BulkLoad: Workload {
  static let name = "W4"
  static let rate: String? = "documents_per_s"
  static var engines: [any Engine] { documentWriters { WriterRound(kind: .load, type: $0) } }
}

enum IndexedUpdates: Workload {
  static let name = "W14"
  static let rate: String? = "documents_per_s"
  static var engines: [any Engine] { documentWriters { WriterRound(kind: .updates, type: $0) } }
}

private func documentWriters(_ round: (any DocumentWriter.Type) -> WriterRound) -> [any Engine] {
  var types: [any DocumentWriter.Type] = [DugoutWriter.self]
  #if SQLITE
  types.append(SQLiteWriter.self)
  #endif
  #if LEVELDB
  types.append(KeyValueWriter<LevelDBEngine>.self)
  #endif
  #if ROCKSDB
  types.append(KeyValueWriter<RocksDBEngine>.self)
  #endif
  return types.map(round)
}

private struct WriterRound: Engine {
  enum Kind { case batches, load, updates }

  static let batch = 500
  var kind: Kind
  var type: any DocumentWriter.Type
  var name: String { type.name }

  func round(in directory: URL, _ options: BenchmarkOptions) throws -> [String: Double] {
    let count = options.documents / Self.batch * Self.batch
    let writer = try type.init(directory)
    let batches = stride(from: 0, to: count, by: Self.batch).map { $0..<$0 + Self.batch }
    if kind == .updates { try writer.load(count) }
    let time = try ContinuousClock().measure {
      switch kind {
      case .batches: for batch in batches { try writer.write(batch) }
      case .load: try writer.load(count)
      case .updates: for batch in batches { try writer.update(batch, score: 77) }
      }
    }
    try writer.close()
    return ["documents_per_s": Double(count) / (time / .seconds(1))]
  }
}

// MARK: W2

enum EightDocumentWriters: Workload {
  static let name = "W2"
  static let rate: String? = "commits_per_s"
  static var engines: [any Engine] {
    var engines: [any Engine] = [ThreadsRound(), AsyncRound()]
    engines += Peers.installed.map { PeerThreadsRound(type: $0) }
    return engines
  }

  private static func count(_ options: BenchmarkOptions) -> Int { min(options.documents, 20_000) }

  struct ThreadsRound: Engine {
    let name = "dugout"

    func round(in directory: URL, _ options: BenchmarkOptions) throws -> [String: Double] {
      let store = try DocumentStore.open(directory.appendingPathComponent("store").path)
      defer { try? store.close() }
      let writes = try (0..<count(options)).map { try SampleDocument.write($0) }
      return try CommitTimes.measure(writes.count, threads: 8) { try store.commit([writes[$0]]) }
    }
  }

  struct PeerThreadsRound: Engine {
    var type: any ByteEngine.Type
    var name: String { type.name }

    func round(in directory: URL, _ options: BenchmarkOptions) throws -> [String: Double] {
      let entries = try (0..<count(options)).map { try DocumentEntries.document($0) }
      let engine = try type.init(directory)
      let times = try CommitTimes.measure(entries.count, threads: 8) { index in
        try engine.commit(entries[index...index])
      }
      try engine.close()
      return times
    }
  }

  struct AsyncRound: Engine {
    let name = "dugout, 64 async"

    func round(in directory: URL, _ options: BenchmarkOptions) throws -> [String: Double] {
      let store = try DocumentStore.open(directory.appendingPathComponent("store").path)
      defer { try? store.close() }
      let writes = try (0..<count(options)).map { try SampleDocument.write($0) }
      let writers = AsyncWriters(store, writes)
      let time = ContinuousClock().measure { writers.run(64) }
      return ["commits_per_s": Double(writes.count) / (time / .seconds(1))]
    }
  }
}
