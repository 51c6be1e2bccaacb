// W1: durable commits of one document, one writer.

import DocumentStore
import Foundation

enum DurableCommits: Workload {
  static let name = "W1"
  static let engines: [any Engine.Type] = [DugoutEngine.self, DeviceLimit.self]

  /// Enough to outlive the first, small logs; each takes about a tenth of a millisecond.
  private static func count(_ options: BenchmarkOptions) -> Int { min(options.documents, 5000) }

  enum DugoutEngine: Engine {
    static let name = "dugout"

    static func round(in directory: URL, _ options: BenchmarkOptions) throws -> [String: Double] {
      let store = try DocumentStore.open(directory.appendingPathComponent("store").path)
      defer { try? store.close() }
      let writes = try (0..<count(options)).map { try SampleDocument.write($0) }
      return try CommitTimes.measure(writes.count) { try store.commit([writes[$0]]) }
    }
  }

  /// The same number of pages written over a file that is as large already, each one synced.
  enum DeviceLimit: Engine {
    static let name = "device"

    static func round(in directory: URL, _ options: BenchmarkOptions) throws -> [String: Double] {
      let page = [UInt8](repeating: 0x5A, count: 4096)
      let file = open(directory.appendingPathComponent("pages").path, O_RDWR | O_CREAT, 0o600)
      guard file >= 0 else { throw BenchmarkFailure("the file for the device's limit was not made") }
      defer { close(file) }
      for index in 0..<count(options) { pwrite(file, page, page.count, off_t(index * page.count)) }
      try sync(file)
      return try CommitTimes.measure(count(options)) { index in
        guard pwrite(file, page, page.count, off_t(index * page.count)) == page.count else {
          throw BenchmarkFailure("a page was not written whole")
        }
        try sync(file)
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

/// Rate and latencies of many calls in a row.
enum CommitTimes {
  static func measure(_ count: Int, _ call: (Int) throws -> Void) rethrows -> [String: Double] {
    let clock = ContinuousClock()
    var microseconds: [Double] = []
    microseconds.reserveCapacity(count)
    let total = try clock.measure {
      for index in 0..<count { microseconds.append(try clock.measure { try call(index) } / .microseconds(1)) }
    }
    microseconds.sort()
    return [
      "commits_per_s": Double(count) / (total / .seconds(1)),
      "p50_us": microseconds[count / 2],
      "p99_us": microseconds[count * 99 / 100],
    ]
  }
}

/// The document of every workload: eleven fields, about 350 bytes.
enum SampleDocument {
  static func write(_ number: Int) throws -> Mutation {
    let path = try DocumentPath(["users", "user-\(number * 7919 % 1_000_003)-\(number)"])
    return .set(path, fields(number))
  }

  private static func fields(_ number: Int) -> StoredMap {
    let address = StoredMap([
      ("street", .string("\(number % 900) Harbour Street")), ("city", .string("Town \(number % 50)")),
      ("zip", .string("\(10_000 + number % 80_000)")), ("country", .string("Norway")),
    ])
    return StoredMap([
      ("name", .string("Person \(number)")), ("email", .string("person\(number)@example.org")),
      ("age", .integer(Int64(18 + number % 70))), ("score", .double(Double(number % 10_000) / 7)),
      ("active", .boolean(number % 3 == 0)), ("createdAt", .integer(1_700_000_000 + Int64(number))),
      ("city", .string("Town \(number % 50)")), ("visits", .integer(Int64(number % 1000))),
      ("tags", .array([.string("a\(number % 9)"), .string("b\(number % 5)"), .string("c")])),
      ("address", .map(address)),
      ("bio", .string("Writes about number \(number) and about the sea, the harbour and the weather.")),
    ])
  }
}
