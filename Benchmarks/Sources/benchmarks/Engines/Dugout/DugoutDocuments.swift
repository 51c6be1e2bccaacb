@_spi(Measure) import DocumentStore
import Foundation
import SampleDocuments

/// Dugout, through the public interface of its engine.
final class DugoutDocuments: DocumentEngine {
  static let name = "dugout"
  static let settings = """
    With its defaults, and a cache for the pages of segments of the given size. Queries are built once and get their \
    values anew for each query, as prepared statements do. Loads commit batches of 500, build the indexes, and \
    compact.
    """

  private let sample: SampleStore
  private let isLoad: Bool

  var store: DocumentStore { sample.store }

  static func path(in directory: URL) -> String { directory.appendingPathComponent("store").path }

  init(_ directory: URL, _ setup: EngineSetup) throws {
    let path = Self.path(in: directory)
    let isNew = !FileManager.default.fileExists(atPath: path)
    sample = try SampleStore(try MeasuredDocumentStore.open(path, cacheBytesMax: setup.cacheBytes))
    isLoad = setup.purpose == .load
    // The indexes are created in advance, as the peers do. Otherwise the queries would create them.
    if isNew && !isLoad { try sample.makeIndexes() }
  }

  func close() throws {
    let automatic = store.indexList.first { $0.isAutomatic }
    try store.close()
    // In Dugout, as in all engines, the declared indexes must be sufficient for every query. An automatic
    // index shows that they were not.
    if let automatic { throw BenchmarkFailure("a query caused \(automatic.definition) to be built") }
  }

  // MARK: Writing

  static func writes(_ numbers: [Int]) throws -> [Mutation] { try SampleStore.writes(numbers) }

  static func updates(_ numbers: [Int], revision: Int) throws -> [Mutation] {
    try SampleStore.updates(numbers, revision: revision)
  }

  func write(_ writes: [Mutation]) throws { try store.commit(writes) }

  func update(_ updates: [Mutation]) throws { try store.commit(updates) }

  func finishLoad() throws {
    try sample.makeIndexes()
    try store.compact()
  }

  // MARK: Reading

  static func key(_ number: Int) throws -> DocumentPath { try SampleStore.key(number) }

  func get(_ key: DocumentPath) throws -> Int { try sample.get(key) }

  func byScore(from score: Double, limit: Int) throws -> Int {
    try sample.byScore(from: score, limit: limit)
  }

  func usersInTown(_ town: String, limit: Int) throws -> Int {
    try sample.usersInTown(town, limit: limit)
  }

  func usersInTown(_ town: String, until time: Int, limit: Int) throws -> Int {
    try sample.usersInTown(town, until: time, limit: limit)
  }

  func posts(from time: Int, limit: Int) throws -> Int { try sample.posts(from: time, limit: limit) }

  func scan() throws -> Int { try sample.scan() }

  func scanInTwo() throws -> Int {
    try TwoThreads.sum({ try self.sample.scanUsers() }, { try self.sample.scanPosts() })
  }
}
