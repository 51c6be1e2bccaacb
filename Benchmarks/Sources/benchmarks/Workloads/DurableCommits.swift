// W1: durable commits of one document, one writer.

import DocumentStore
import Foundation

enum DurableCommits: Workload {
  static let name = "W1"
  static let rate: String? = "commits_per_s"
  static let engines: [any Engine] =
    [DugoutEngine(), DeviceLimit()] + Peers.installed.map { PeerEngine(type: $0) }

  /// Enough to outlive the first, small logs; each takes about a tenth of a millisecond.
  private static func count(_ options: BenchmarkOptions) -> Int { min(options.documents, 5000) }

  struct DugoutEngine: Engine {
    let name = "dugout"

    func round(in directory: URL, _ options: BenchmarkOptions) throws -> [String: Double] {
      let store = try DocumentStore.open(directory.appendingPathComponent("store").path)
      defer { try? store.close() }
      let writes = try (0..<count(options)).map { try SampleDocument.write($0) }
      return try CommitTimes.measure(writes.count) { try store.commit([writes[$0]]) }
    }
  }

  struct PeerEngine: Engine {
    var type: any ByteEngine.Type
    var name: String { type.name }

    func round(in directory: URL, _ options: BenchmarkOptions) throws -> [String: Double] {
      let entries = try (0..<count(options)).map { try DocumentEntries.document($0) }
      let engine = try type.init(directory)
      let times = try CommitTimes.measure(entries.count) { try engine.commit(entries[$0...$0]) }
      try engine.close()
      return times
    }
  }

  /// The same number of pages written over a file that is as large already, each one synced.
  struct DeviceLimit: Engine {
    let name = "device"

    func round(in directory: URL, _ options: BenchmarkOptions) throws -> [String: Double] {
      let page = [UInt8](repeating: 0x5A, count: 4096)
      let file = open(directory.appendingPathComponent("pages").path, O_RDWR | O_CREAT, 0o600)
      guard file >= 0 else { throw BenchmarkFailure("the file for the device's limit was not made") }
      defer { close(file) }
      for index in 0..<count(options) { pwrite(file, page, page.count, off_t(index * page.count)) }
      try Self.sync(file)
      return try CommitTimes.measure(count(options)) { index in
        guard pwrite(file, page, page.count, off_t(index * page.count)) == page.count else {
          throw BenchmarkFailure("a page was not written whole")
        }
        try Self.sync(file)
      }
    }

    private static func sync(_ file: Int32) throws {
      #if canImport(Darwin)
      let failed = fcntl(file, F_FULLFSYNC) != 0
      #else
      let failed = fdatasync(file) != 0
      #endif
      if failed { throw BenchmarkFailure("a sync failed with error \(errno)") }
    }
  }
}
