// Workloads, engines, and the state that rounds share.

import BenchmarkReports
import Foundation

/// One row of the goal table, measured for several engines.
protocol Workload: SendableMetatype {
  /// The name for `--only`.
  static var name: String { get }
  static var title: String { get }
  static var engines: [any Engine] { get }
  /// The goals of the workload.
  static var goals: [Goal] { get }
  /// Whether one round is enough, because the result is constant.
  static var runsOnce: Bool { get }
}

extension Workload {
  static var goals: [Goal] { [] }
  static var runsOnce: Bool { false }
}

/// A way to run a workload.
protocol Engine: Sendable {
  var name: String { get }
  /// Runs one round in a new directory, and returns the values of each metric. A metric whose name ends
  /// with `_per_s` is a rate, and higher is better. For all other metrics, lower is better.
  func round(in directory: URL, _ context: RunContext) throws -> [String: Double]
}

/// The state that rounds share.
final class RunContext: Sendable {
  let options: BenchmarkOptions
  let stores: LoadedStores
  let answers = Answers()

  init(_ options: BenchmarkOptions, root: URL) {
    self.options = options
    stores = LoadedStores(options, root: root.appendingPathComponent("loaded"))
  }

  /// Opens the store that W1 to W3 write to, and returns its document count. The store is empty unless
  /// the run draws curves over document counts.
  func storeForWrites<Database: DocumentEngine>(
    of type: Database.Type, in directory: URL
  ) throws -> (engine: Database, documents: Int) {
    let held = options.scale.isEmpty ? 0 : options.documents
    if held > 0 { try stores.copy(of: type, to: directory) }
    let engine = try Database(directory, EngineSetup(cacheBytes: options.cacheBytes))
    if held > 0 { try answers.note("a visit before writes", engine.visitIndexes(held), of: type.name) }
    return (engine, held)
  }

  /// Checks that the store and its indexes contain the documents of a round of W1 to W3 and all earlier
  /// documents. If the store was empty before, all documents are visited in the order of each index.
  /// Otherwise only the new documents and a sample of all documents are visited.
  func check<Database: DocumentEngine>(
    _ engine: Database, holds count: Int, above held: Int, _ what: String, of name: String
  ) throws {
    guard held > 0 else {
      try answers.note(what, try engine.scan(), of: name)
      return try answers.note("in order, \(what)", try engine.weightOfOrderedAnswers(count), of: name)
    }
    try engine.requireInIndexes(held..<held + count)
    try answers.note("a visit to all and \(what)", try engine.visitIndexes(held + count), of: name)
  }
}

/// Collects the checksums of the engines' answers. If two engines answer a query differently, the run ends
/// with an error.
final class Answers: @unchecked Sendable {
  // Guarded by the lock.
  private var sums: [String: (engine: String, sum: Int)] = [:]
  private let lock = NSLock()

  func note(_ query: String, _ sum: Int, of engine: String) throws {
    try lock.withLock {
      guard let first = sums[query] else { return sums[query] = (engine, sum) }
      guard first.sum == sum else {
        throw BenchmarkFailure(
          "\(engine) answers \(query) with \(sum), and \(first.engine) with \(first.sum)")
      }
    }
  }
}

/// The stores with all documents, one per engine, loaded at first use and kept until the run ends.
final class LoadedStores: @unchecked Sendable {
  // Used only by the thread that runs the rounds.
  private var loaded: Set<String> = []
  private let options: BenchmarkOptions
  private let root: URL

  init(_ options: BenchmarkOptions, root: URL) {
    self.options = options
    self.root = root
  }

  /// Returns the directory of an engine's store. The first call loads the store.
  func directory<Database: DocumentEngine>(of type: Database.Type) throws -> URL {
    try directory(named: type.name) { directory in
      _ = try Database.load(options.documents, in: directory, window: 50_000)
      let engine = try Database(directory, EngineSetup(cacheBytes: options.cacheBytes))
      try engine.compact()
      try engine.close()
    }
  }

  /// Returns the directory of a store. The first call creates the directory and calls `load` with it.
  func directory(named name: String, _ load: (URL) throws -> Void) throws -> URL {
    let directory = root.appendingPathComponent(name)
    guard loaded.insert(name).inserted else { return directory }
    Progress.note("loading \(options.documents) documents into \(name)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    try load(directory)
    sync()
    return directory
  }

  /// Copies the store for a round that changes it.
  func copy<Database: DocumentEngine>(of type: Database.Type, to directory: URL) throws {
    // Uses `cp`, because files may be sparse. For example, LMDB's file is as long as its map.
    let copy = Process()
    copy.executableURL = URL(fileURLWithPath: "/bin/cp")
    copy.arguments = ["-R", "\(try self.directory(of: type).path)/.", directory.path]
    try copy.run()
    copy.waitUntilExit()
    guard copy.terminationStatus == 0 else {
      throw BenchmarkFailure("the store of \(type.name) was not copied")
    }
    // Flushes the copy to the disk, so that the writes of the copy do not disturb the measurement.
    sync()
  }
}
