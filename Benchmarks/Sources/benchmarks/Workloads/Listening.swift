// W16: from a write to the listener that it concerns, with one live query and with ten thousand; and what a write
// that concerns nobody costs with none of them and with ten thousand, in two stores that take turns.

import DocumentStore
import Foundation

enum Listening: Workload {
  static let name = "W16"
  static let engines: [any Engine] = [Told(listeners: 1), Told(listeners: 10_000), Unconcerned()]

  private static func count(_ options: BenchmarkOptions) -> Int { min(options.documents, 3000) }

  private static func open(_ directory: URL, _ name: String) throws -> DocumentStore {
    try DocumentStore.open(directory.appendingPathComponent(name).path)
  }

  /// Live queries for other values, ranges and collections than those that are written.
  private static func listenElsewhere(_ store: DocumentStore, _ count: Int, _ queue: DispatchQueue) throws {
    let users = try CollectionPath(["users"])
    let score = try StoredFieldPath(["score"])
    for number in 0..<count {
      let query: StructuredQuery
      switch number % 3 {
      case 0:
        query = try StructuredQuery(.collection(users)).filtered(
          by: .field(StoredFieldPath(["city"]), .equal, .string("Nowhere \(number)")))
      case 1:
        query = try StructuredQuery(.collection(users))
          .filtered(by: .field(score, .greaterThan, .double(10_000 + Double(number))))
          .filtered(by: .field(score, .lessThan, .double(10_001 + Double(number))))
      default: query = StructuredQuery(.collection(try CollectionPath(["elsewhere\(number)"])))
      }
      _ = try store.listen(to: query, on: queue) { _ in }
    }
    queue.sync {}
  }

  struct Told: Engine {
    var listeners: Int
    var name: String { listeners == 1 ? "dugout, 1 listener" : "dugout, \(listeners) listeners" }

    func round(in directory: URL, _ options: BenchmarkOptions) throws -> [String: Double] {
      let store = try Listening.open(directory, "store")
      defer { try? store.close() }
      let queue = DispatchQueue(label: "listeners")
      try Listening.listenElsewhere(store, listeners - 1, queue)
      let told = DispatchSemaphore(value: 0)
      let query = try StructuredQuery(.collection(CollectionPath(["users"])))
        .filtered(by: .field(StoredFieldPath(["city"]), .equal, .string("Town 7")))
      _ = try store.listen(to: query, on: queue) { _ in told.signal() }
      told.wait()
      let writes = try (0..<Listening.count(options)).map { try SampleDocument.write($0 * 50 + 7) }
      let clock = ContinuousClock()
      var commits: [Double] = []
      var callbacks: [Double] = []
      for write in writes {
        let start = clock.now
        try store.commit([write])
        commits.append((clock.now - start) / .microseconds(1))
        told.wait()
        callbacks.append((clock.now - start) / .microseconds(1))
      }
      return ["commit_p50_us": commits.median, "callback_p50_us": callbacks.median]
    }
  }

  struct Unconcerned: Engine {
    let name = "dugout, nobody concerned"

    func round(in directory: URL, _ options: BenchmarkOptions) throws -> [String: Double] {
      let quiet = try Listening.open(directory, "quiet")
      let watched = try Listening.open(directory, "watched")
      defer {
        try? quiet.close()
        try? watched.close()
      }
      try Listening.listenElsewhere(watched, 10_000, DispatchQueue(label: "listeners"))
      var wall: [[Double]] = [[], []]
      var processor: [[Double]] = [[], []]
      let clock = ContinuousClock()
      for number in 0..<Listening.count(options) {
        let write = try SampleDocument.write(number)
        for place in number % 2 == 0 ? [0, 1] : [1, 0] {
          let (start, used) = (clock.now, Self.threadMicroseconds)
          try (place == 0 ? quiet : watched).commit([write])
          wall[place].append((clock.now - start) / .microseconds(1))
          processor[place].append(Self.threadMicroseconds - used)
        }
      }
      return [
        "commit_p50_us_without": wall[0].median, "commit_p50_us_with_10000": wall[1].median,
        "ratio": wall[1].median / wall[0].median,
        "processor_us_without": processor[0].median, "processor_us_with_10000": processor[1].median,
      ]
    }

    private static var threadMicroseconds: Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }
  }
}

extension [Double] {
  var median: Double { sorted()[count / 2] }
}
