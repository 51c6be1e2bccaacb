// W11: the time to open a store after its process was killed, per document in the log. A child process writes
// the documents in durable batches of 500 with three indexes, and reports that it is done. Then the child is
// killed. LMDB has no log and is left out.

import BenchmarkReports
import Foundation

enum Recovery: Workload {
  static let name = "W11"
  static let title = "recovery after a kill"
  static let task = "recovery"
  private static let fullLog = "dugout, full log"
  static var engines: [any Engine] {
    // The count of the first rounds fits into the log of every engine. The count of the last round fills the
    // log of a store without a checkpoint up to the flush threshold of 64 MB, regardless of the run's
    // document count.
    Engines.all.filter { $0.hasLog }.map { RecoveryRound(type: $0, name: $0.name, logged: 40_000) }
      + [RecoveryRound(type: Engines.dugout, name: fullLog, logged: 150_000)]
  }
  static let goals = [
    Goal.ratio("recovery, for each document in the WAL", "per_document_us", 0.6)
      .summarized(as: "recovery"),
    Goal(
      title: "recovery of a WAL of 64 MB", engine: fullLog, metric: "open_ms", measure: .absolute,
      bound: 100),
  ]

  // MARK: In the killed process

  static func runChild(_ words: [String]) throws {
    guard words.count == 3, let count = Int(words[2]) else {
      throw BenchmarkFailure("the process for recovery was called wrongly")
    }
    try write(Child.engine(words[0]), URL(fileURLWithPath: words[1]), count)
    FileHandle.standardOutput.write(Data("done\n".utf8))
    // Waits to be killed.
    while true { pause() }
  }

  private static func write<Database: DocumentEngine>(_ type: Database.Type, _ directory: URL, _ count: Int)
    throws
  {
    let engine = try type.init(directory, EngineSetup(purpose: .crash))
    for start in stride(from: 0, to: count, by: 500) {
      try engine.write(type.writes(Array(start..<min(start + 500, count))))
    }
    kept = engine
  }

  /// The engine, kept open until the kill. Safe, because only the main thread of the child sets it, once.
  nonisolated(unsafe) private static var kept: (any DocumentEngine)?
}

private struct RecoveryRound: Engine {
  var type: any DocumentEngine.Type
  var name: String
  /// The maximum number of documents in the log.
  var logged: Int

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    // A local copy, because the compiler cannot open the existential type of a property.
    let database = type
    return try measured(database, directory, context)
  }

  private func measured<Database: DocumentEngine>(
    _ type: Database.Type, _ directory: URL, _ context: RunContext
  ) throws -> [String: Double] {
    let count = name == type.name ? min(context.options.documents, logged) : logged
    let (process, output) = try Child.start(Recovery.task, [type.name, directory.path, "\(count)"])
    defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
    let word = output.fileHandleForReading.readData(ofLength: 5)
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    guard word == Data("done\n".utf8) else {
      throw BenchmarkFailure("\(type.name) did not write the data to recover")
    }
    let key = try type.key(count - 1)
    let bytes = try DirectorySize.bytes(in: directory) { _ in true }
    let start = ContinuousClock().now
    let engine = try type.init(directory, EngineSetup(cacheBytes: context.options.cacheBytes))
    let last = try engine.get(key)
    let milliseconds = (ContinuousClock().now - start) / .milliseconds(1)
    try context.answers.note("the last document of \(count)", last, of: name)
    try context.answers.note("all of \(count) recovered documents", try engine.scan(), of: name)
    try engine.close()
    return [
      "open_ms": milliseconds, "per_document_us": milliseconds * 1000 / Double(count),
      "disk_bytes": Double(bytes),
    ]
  }
}
