// W13: the private memory of a separate process (anonymous pages, from /proc/self/smaps). The memory is
// measured after the process has opened the store, and again after the queries of W5 to W8 have touched all
// indexes. Each measurement is made with the smallest possible cache, and with a cache that holds everything.

import BenchmarkReports
import Foundation
import SampleDocuments

enum Memory: Workload {
  static let name = "W13"
  static let title = "anonymous memory"
  static let task = "memory"
  static var engines: [any Engine] { Engines.all.map { MemoryRound(type: $0) } }
  static let goals = [
    Goal.ratio("anonymous memory of the process after open", "after_open_bytes", 1.2)
      .summarized(as: "memory after open"),
    // Leaves out the program's own memory, which is some megabytes.
    Goal.ratio("anonymous memory that the open added", "opened_only_bytes", 1.2),
    Goal(
      title: "memory per document with index entries, after W5 to W8", metric: "bytes_per_document",
      measure: .absolute, bound: 70),
  ]

  /// The size of a nearly empty cache.
  static let leastCacheBytes = 1 << 20

  // MARK: In the separate process

  static func runChild(_ words: [String]) throws {
    guard words.count == 4, let documents = Int(words[2]), let cacheBytes = Int(words[3]) else {
      throw BenchmarkFailure("the process for memory was called wrongly")
    }
    let numbers = try measure(
      Child.engine(words[0]), URL(fileURLWithPath: words[1]), documents: documents, cacheBytes: cacheBytes)
    FileHandle.standardOutput.write(try JSONSerialization.data(withJSONObject: numbers))
  }

  private static func measure<Database: DocumentEngine>(
    _ type: Database.Type, _ directory: URL, documents: Int, cacheBytes: Int
  ) throws -> [String: Double] {
    var gauge = try MemoryGauge()
    let before = try gauge.anonymousBytes()
    let engine = try type.init(directory, EngineSetup(cacheBytes: cacheBytes))
    _ = try engine.get(type.key(0))
    let opened = try gauge.anonymousBytes()
    // Scans each index completely and runs the queries, so that every page is touched.
    _ = try engine.byScore(from: 0, limit: documents)
    for town in 0..<SampleDocument.towns { _ = try engine.usersInTown("Town \(town)", limit: documents) }
    _ = try engine.posts(from: 0, limit: documents)
    for number in stride(from: 0, to: documents, by: 7) { _ = try engine.get(type.key(number)) }
    let touched = try gauge.anonymousBytes()
    try engine.close()
    return ["before": before, "opened": opened, "touched": touched]
  }
}

/// Reads the system's numbers about this process without allocating. If it allocated text, the engine could
/// reuse the freed memory of the text, and that part of the engine's memory would not be counted.
private struct MemoryGauge {
  private var text = [UInt8](repeating: 1, count: 1 << 20)
  private let file: FileHandle

  init() throws {
    guard let file = FileHandle(forReadingAtPath: "/proc/self/smaps") else {
      throw BenchmarkFailure("/proc/self/smaps cannot be read")
    }
    self.file = file
    // Excludes one-time allocations of the first call.
    _ = try anonymousBytes()
  }

  mutating func anonymousBytes() throws -> Double {
    let count = try read()
    let label = Array("Anonymous:".utf8)
    var kilobytes = 0
    var start = 0
    while start < count {
      let end = text[start..<count].firstIndex(of: UInt8(ascii: "\n")) ?? count
      if text[start..<end].starts(with: label) {
        let digits = text[start..<end].lazy.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        kilobytes += digits.reduce(0) { 10 * $0 + Int($1 - UInt8(ascii: "0")) }
      }
      start = end + 1
    }
    guard kilobytes > 0 else { throw BenchmarkFailure("/proc/self/smaps says nothing of anonymous memory") }
    return Double(kilobytes << 10)
  }

  /// Reads the file and returns the number of bytes.
  private mutating func read() throws -> Int {
    var count = 0
    while true {
      let part = text.withUnsafeMutableBytes { bytes in
        pread(file.fileDescriptor, bytes.baseAddress?.advanced(by: count), bytes.count - count, off_t(count))
      }
      guard part >= 0, count + part < text.count else {
        throw BenchmarkFailure("/proc/self/smaps cannot be read")
      }
      guard part > 0 else { return count }
      count += part
    }
  }
}

private struct MemoryRound: Engine {
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
    let store = try context.stores.directory(of: type)
    func measure(_ cacheBytes: Int) throws -> [String: Double] {
      try Child.numbers(
        Memory.task, [name, store.path, "\(context.options.documents)", "\(cacheBytes)"])
    }
    let small = try measure(Memory.leastCacheBytes)
    let large = try measure(context.options.cacheBytes)
    func value(_ name: String, _ numbers: [String: Double]) throws -> Double {
      guard let value = numbers[name] else {
        throw BenchmarkFailure("the process for memory ended its report early")
      }
      return value
    }
    return [
      "after_open_bytes": try value("opened", small),
      "opened_only_bytes": try value("opened", small) - value("before", small),
      "after_queries_bytes": try value("touched", small),
      "bytes_per_document": try (value("touched", small) - value("before", small))
        / Double(context.options.documents),
      "full_cache_after_queries_bytes": try value("touched", large),
    ]
  }
}
