// W1b, W2b, W3b: durable commits of keys and values, without documents. Afterwards all entries are read back
// from every engine and compared with the written entries.

import Foundation

enum SingleByteCommits: Workload {
  static let name = "W1b"
  static let title = "durable commits of one key and value, one writer"
  static var engines: [any Engine] { ByteRound.all(threads: 1, batch: 1, commitsMax: 5000) }
}

enum EightByteWriters: Workload {
  static let name = "W2b"
  static let title = "durable commits of one key and value, eight writers"
  static var engines: [any Engine] { ByteRound.all(threads: 8, batch: 1, commitsMax: 20_000) }
}

enum ByteBatches: Workload {
  static let name = "W3b"
  static let title = "durable batches of 500 keys and values"
  static var engines: [any Engine] { ByteRound.all(threads: 1, batch: 500, commitsMax: 200) }
}

private struct ByteRound: Engine {
  var type: any ByteEngine.Type
  var threads: Int
  var batch: Int
  var commitsMax: Int

  var name: String { type.name }

  static func all(threads: Int, batch: Int, commitsMax: Int) -> [any Engine] {
    var types: [any ByteEngine.Type] = [DugoutBytes.self]
    #if LMDB
    types.append(KeyValueBytes<LMDBStore>.self)
    #endif
    #if ROCKSDB
    types.append(KeyValueBytes<RocksDBStore>.self)
    #endif
    #if LEVELDB
    types.append(KeyValueBytes<LevelDBStore>.self)
    #endif
    return types.map { ByteRound(type: $0, threads: threads, batch: batch, commitsMax: commitsMax) }
  }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    // A local copy, because the compiler cannot open the existential type of a property.
    let database = type
    return try measured(database, directory, context)
  }

  private func measured<Store: ByteEngine>(
    _ type: Store.Type, _ directory: URL, _ context: RunContext
  ) throws -> [String: Double] {
    let commits = max(threads, min(commitsMax, context.options.documents / batch)) / threads * threads
    let writes = (0..<commits).map { type.writes($0 * batch..<($0 + 1) * batch) }
    let engine = try type.init(directory)
    let times = try CommitTimes.measure(commits, threads: threads) { try engine.commit(writes[$0]) }
    for number in 0..<commits * batch {
      guard try engine.holds(number) else {
        throw BenchmarkFailure("\(name) does not hold the written data")
      }
    }
    try engine.close()
    return times
  }
}
