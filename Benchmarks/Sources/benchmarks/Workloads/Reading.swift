// W5 to W9: documents by path, in order, by equality, of a group, and all of them. Every engine is loaded with the
// same documents once a round, warmed, and asked the same questions; answers that differ end the run.

import Foundation

enum Reading: Workload {
  static let name = "W5-W9"
  static var engines: [any Engine] {
    var engines: [any Engine] = [Round<DugoutDocuments>()]
    #if SQLITE
    engines.append(Round<SQLiteEngine>())
    #endif
    return engines
  }

  /// Where engines note what they answered.
  private static let answers = Answers()

  struct Round<Database: DocumentEngine>: Engine {
    var name: String { Database.name }

    func round(in directory: URL, _ options: BenchmarkOptions) throws -> [String: Double] {
      let database = try Database(directory)
      let count = options.documents
      try database.load(count)
      var results: [String: Double] = [:]
      func measure(_ metric: String, _ times: Int, _ question: (Int) throws -> Int) throws {
        // A third of it to warm up.
        for index in 0..<(times + 2) / 3 { _ = try question(index) }
        var sum = 0
        let clock = ContinuousClock()
        let start = clock.now
        for index in 0..<times { sum &+= try question(index) }
        results[metric] = (clock.now - start) / .microseconds(1) / Double(times)
        try answers.note(metric, sum, of: name)
      }
      try measure("W5_get_us", 20_000) { try database.get(($0 &* 48_271) % count) }
      try measure("W6_limit20_us", 2000) { try database.byScore(from: Double($0 * 37 % 1400), limit: 20) }
      try measure("W6_limit1000_us", 100) { try database.byScore(from: Double($0 * 37 % 1200), limit: 1000) }
      try measure("W7_limit20_us", 2000) { try database.ofTown("Town \($0 % 25 * 2)", limit: 20) }
      try measure("W8_limit20_us", 2000) {
        try database.anywhere(from: 1_700_000_000 + ($0 &* 48_271) % count, limit: 20)
      }
      try measure("W9_scan_us", 2) { _ in try database.scan() }
      try database.close()
      return results
    }
  }

  private final class Answers: @unchecked Sendable {
    // Guarded by the lock.
    private var sums: [String: (engine: String, sum: Int)] = [:]
    private let lock = NSLock()

    func note(_ metric: String, _ sum: Int, of engine: String) throws {
      try lock.withLock {
        guard let first = sums[metric] else { return sums[metric] = (engine, sum) }
        guard first.sum == sum else {
          throw BenchmarkFailure(
            "\(engine) answers \(metric) with \(sum), and \(first.engine) with \(first.sum)")
        }
      }
    }
  }
}
