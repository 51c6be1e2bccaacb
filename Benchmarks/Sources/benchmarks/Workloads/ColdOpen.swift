// W10: the times to open a store, to get a first document, and to run a first query for 20 documents, with no
// part of the store in memory.
//
// If permitted, the system's whole page cache is dropped. Otherwise the system is asked to evict the files.
// The engine's code runs once beforehand, so that the time to load the code is not measured.

import BenchmarkReports
import Foundation

enum ColdOpen: Workload {
  static let name = "W10"
  static let title = "cold open, first get, first query"
  static var engines: [any Engine] { Engines.all.map { ColdRound(type: $0) } }
  static let goals = [
    Goal.ratio("cold open and first get", "open_and_get_ms", 0.8).summarized(as: "cold open and get"),
    Goal.ratio("cold first query, limit 20", "first_query_ms", 0.5),
  ]

  /// The way in which this run drops the pages, for the report.
  static var way: String {
    dropsAll
      ? "the page cache was dropped as a whole (/proc/sys/vm/drop_caches)"
      : "the files were dropped from the page cache one by one (posix_fadvise)"
  }

  private static let dropsAll = access("/proc/sys/vm/drop_caches", W_OK) == 0

  static func dropCaches(_ directory: URL) throws {
    sync()
    if dropsAll {
      guard let file = FileHandle(forWritingAtPath: "/proc/sys/vm/drop_caches") else {
        throw BenchmarkFailure("/proc/sys/vm/drop_caches cannot be written, though it seemed so")
      }
      try file.write(contentsOf: Data("3\n".utf8))
      try file.close()
      return
    }
    for file in try DirectorySize.files(in: directory) {
      let descriptor = open(file.path, O_RDONLY)
      guard descriptor >= 0 else { continue }
      #if canImport(Glibc)
      posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
      #endif
      close(descriptor)
    }
  }
}

private struct ColdRound: Engine {
  var type: any DocumentEngine.Type
  var name: String { type.name }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    // A local copy, because the compiler cannot open the existential type of a property.
    let database = type
    return try measured(database, context)
  }

  private func measured<Database: DocumentEngine>(
    _ type: Database.Type, _ context: RunContext
  ) throws -> [String: Double] {
    let directory = try context.stores.directory(of: type)
    // Loads the engine's code into memory.
    _ = try times(type, directory, context, isCold: false)
    try ColdOpen.dropCaches(directory)
    return try times(type, directory, context, isCold: true)
  }

  private func times<Database: DocumentEngine>(
    _ type: Database.Type, _ directory: URL, _ context: RunContext, isCold: Bool
  ) throws -> [String: Double] {
    let setup = EngineSetup(cacheBytes: context.options.cacheBytes, purpose: .coldOpen)
    let key = try type.key(context.options.documents / 3)
    let clock = ContinuousClock()
    let start = clock.now
    let engine = try type.init(directory, setup)
    let sum = try engine.get(key)
    let opened = clock.now
    let answer = try engine.byScore(from: 12_345, limit: 20)
    let queried = clock.now
    try engine.close()
    try context.answers.note("the first get", sum, of: name)
    try context.answers.note("the first query", answer, of: name)
    return [
      "open_and_get_ms": (opened - start) / .milliseconds(1),
      "first_query_ms": (queried - opened) / .milliseconds(1),
    ]
  }
}
