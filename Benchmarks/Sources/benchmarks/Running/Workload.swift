// What a workload is.

import Foundation

/// One row of the goal table, measured for several engines.
protocol Workload: SendableMetatype {
  /// As `--only` names it.
  static var name: String { get }
  static var title: String { get }
  static var engines: [any Engine] { get }
  /// What has to be reached.
  static var goals: [Goal] { get }
  /// Not repeated: the same every time.
  static var runsOnce: Bool { get }
}

extension Workload {
  static var goals: [Goal] { [] }
  static var runsOnce: Bool { false }
}

/// One way to do a workload.
protocol Engine: Sendable {
  var name: String { get }
  /// One round in a fresh directory: the values of each metric. A metric whose name ends with `_per_s` is a rate, of
  /// which more is better; of all others, less is.
  func round(in directory: URL, _ context: RunContext) throws -> [String: Double]
}

/// What rounds share.
final class RunContext: Sendable {
  let options: BenchmarkOptions
  let stores: LoadedStores
  let answers = Answers()

  init(_ options: BenchmarkOptions, root: URL) {
    self.options = options
    stores = LoadedStores(options, root: root.appendingPathComponent("loaded"))
  }

  /// The store that W1 to W3 write to, and how many documents are in it: none, but where curves are drawn over such counts.
  func storeForWrites<Database: DocumentEngine>(
    of type: Database.Type, in directory: URL
  ) throws -> (engine: Database, documents: Int) {
    let held = options.scale.isEmpty ? 0 : options.documents
    if held > 0 { try stores.copy(of: type, to: directory) }
    let engine = try Database(directory, EngineSetup(cacheBytes: options.cacheBytes))
    if held > 0 { try answers.note("a visit before writes", engine.visitIndexes(held), of: type.name) }
    return (engine, held)
  }

  /// What a round of W1 to W3 wrote is there, and in its indexes, and so is what was there before. All documents are
  /// visited in the order of each index; in a store that had some before, the new ones are, and a sample of all.
  func check<Database: DocumentEngine>(
    _ engine: Database, holds count: Int, above held: Int, _ what: String, of name: String
  ) throws {
    guard held > 0 else {
      try answers.note(what, try engine.scan(), of: name)
      return try answers.note("in order, \(what)", try engine.weightOfIndexes(count), of: name)
    }
    try engine.requireInIndexes(held..<held + count)
    try answers.note("a visit to all and \(what)", try engine.visitIndexes(held + count), of: name)
  }
}

/// Where engines note what they answered. Answers that differ end the run.
final class Answers: @unchecked Sendable {
  // Guarded by the lock.
  private var sums: [String: (engine: String, sum: Int)] = [:]
  private let lock = NSLock()

  func note(_ question: String, _ sum: Int, of engine: String) throws {
    try lock.withLock {
      guard let first = sums[question] else { return sums[question] = (engine, sum) }
      guard first.sum == sum else {
        throw BenchmarkFailure(
          "\(engine) answers \(question) with \(sum), and \(first.engine) with \(first.sum)")
      }
    }
  }
}

/// A store of each engine with all documents, loaded when it is first needed and there until the run ends.
final class LoadedStores: @unchecked Sendable {
  // Used by the thread that runs the rounds alone.
  private var loaded: Set<String> = []
  private let options: BenchmarkOptions
  private let root: URL

  init(_ options: BenchmarkOptions, root: URL) {
    self.options = options
    self.root = root
  }

  /// Its directory.
  func directory<Database: DocumentEngine>(of type: Database.Type) throws -> URL {
    let directory = root.appendingPathComponent(type.name)
    guard loaded.insert(type.name).inserted else { return directory }
    Progress.note("loading \(options.documents) documents into \(type.name)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    _ = try Database.load(options.documents, in: directory, window: 50_000)
    let engine = try Database(directory, EngineSetup(cacheBytes: options.cacheBytes))
    try engine.compact()
    try engine.close()
    sync()
    return directory
  }

  /// A copy that a round may change.
  func copy<Database: DocumentEngine>(of type: Database.Type, to directory: URL) throws {
    // By `cp`, because files have holes: LMDB's is as long as its map.
    let copy = Process()
    copy.executableURL = URL(fileURLWithPath: "/bin/cp")
    copy.arguments = ["-R", "\(try self.directory(of: type).path)/.", directory.path]
    try copy.run()
    copy.waitUntilExit()
    guard copy.terminationStatus == 0 else {
      throw BenchmarkFailure("the store of \(type.name) was not copied")
    }
    // What the copy has still to write must not get in the way of what is measured.
    sync()
  }
}
