// W5 to W9: reads of documents by path, in order, by equality, from a collection group, and of all documents.
// Every engine opens a store that was loaded before, warms up, and answers identical queries. The queries run
// once with a cache for all data, and once with a cache for an eighth of the data. Every field of every
// result is visited. If two engines give different results, the run ends.

import BenchmarkReports
import Foundation
import SampleDocuments

enum Gets: Workload {
  static let name = "W5"
  static let title = "random gets, every field visited"
  static var engines: [any Engine] {
    ReadRound.all { [.get] } + PublicReads.gets + JSONPeers.all.flatMap { $0.gets }
  }
  static let goals = [
    Goal.ratio("get, every field visited", "get_ns", 0.5).summarized(as: "get, fields visited"),
    PublicReads.goal("get as a dictionary", "get_dictionary_ns", limit: "get_ns")
      .summarized(as: "get, dictionary"),
    PublicReads.goal("get as a Codable struct", "get_struct_ns", limit: "get_ns")
      .summarized(as: "get, struct"),
  ]
}

enum OrderedQueries: Workload {
  static let name = "W6"
  static let title = "ordered queries, every field visited"
  static var engines: [any Engine] {
    ReadRound.all { [.byScore(20), .byScore(1000)] } + PublicReads.queries
      + JSONPeers.all.flatMap { $0.queries }
  }
  static let goals = [
    Goal.ratio("ordered query of 20, every field visited", "limit20_ns", 0.25)
      .summarized(as: "query of 20, visited"),
    Goal.ratio("ordered query of 1,000, every field visited", "limit1000_ns", 0.25),
    PublicReads.goal("ordered query of 20 as dictionaries", "limit20_dictionaries_ns", limit: "limit20_ns")
      .summarized(as: "query of 20, dictionaries"),
    PublicReads.goal("ordered query of 20 as structs", "limit20_structs_ns", limit: "limit20_ns")
      .summarized(as: "query of 20, structs"),
    PublicReads.goal(
      "ordered query of 1,000 as dictionaries", "limit1000_dictionaries_ns", limit: "limit1000_ns"),
    PublicReads.goal("ordered query of 1,000 as structs", "limit1000_structs_ns", limit: "limit1000_ns"),
  ]
}

enum EqualityQueries: Workload {
  static let name = "W7"
  static let title = "equality and an order by another field, limit 20"
  static var engines: [any Engine] { ReadRound.all { [.usersInTown] } }
  static let goals = [
    Goal.ratio("equality and order, limit 20", "limit20_ns", 0.25).summarized(as: "equality and order")
  ]
}

enum GroupQueries: Workload {
  static let name = "W8"
  static let title = "collection group in order, limit 20"
  static var engines: [any Engine] { ReadRound.all { [.posts] } }
  static let goals = [
    Goal.ratio("ordered collection group, limit 20", "limit20_ns", 0.25).summarized(as: "collection group")
  ]
}

enum Scans: Workload {
  static let name = "W9"
  static let title = "full scan, every field visited"
  static var engines: [any Engine] { ReadRound.all { [.scan, .scanInTwo] } + limits }
  private static let limits: [any Engine] = [DecodeLimit(isRate: true), CopyLimit()]
  static let goals = [
    Goal.ratio("scan, one thread", "docs_per_s", 0.6).summarized(as: "scan"),
    Goal(
      title: "scan with two threads, relative to a peer's one", metric: "two_threads_docs_per_s",
      measure: .toBestPeer("docs_per_s"), bound: 0.35
    ).withUnequalWork(),
    Goal.ratio("scan, two threads", "two_threads_docs_per_s", 0.6),
  ]
}

/// A query, and its number of repetitions per round.
enum ReadQuery: Sendable {
  case get
  case byScore(Int)
  case usersInTown
  case posts
  case scan
  case scanInTwo

  var metric: String {
    switch self {
    case .get: "get_ns"
    case .byScore(let limit): "limit\(limit)_ns"
    case .usersInTown, .posts: "limit20_ns"
    case .scan: "docs_per_s"
    case .scanInTwo: "two_threads_docs_per_s"
    }
  }

  var times: Int {
    switch self {
    case .get: 20_000
    case .byScore(let limit): 40_000 / limit
    case .usersInTown, .posts: 2000
    case .scan, .scanInTwo: 1
    }
  }

  /// The parameter of the query with the number `index`: a document, a score, a town or a creation time.
  static func number(_ index: Int, below limit: Int) -> Int {
    SampleDocument.parameter(index, below: limit)
  }

  static func score(_ index: Int) -> Double { Double(number(index, below: 60_000)) }
  static func town(_ index: Int) -> String { "Town \(number(index, below: SampleDocument.towns))" }

  static func timestamp(_ index: Int) -> Int {
    SampleDocument.firstTime + number(index, below: SampleDocument.timeSpan)
  }

  /// Runs all queries of this kind in a round. Returns the time per query and the sum of all answers.
  func run<Database: DocumentEngine>(_ engine: Database, documents: Int) throws -> (seconds: Double, sum: Int)
  {
    switch self {
    case .get:
      let keys = try (0..<times).map { try Database.key(Self.number($0, below: documents)) }
      return try time { try engine.get(keys[$0]) }
    case .byScore(let limit):
      let scores = (0..<times).map(Self.score)
      return try time { try engine.byScore(from: scores[$0], limit: limit) }
    case .usersInTown:
      let towns = (0..<times).map(Self.town)
      return try time { try engine.usersInTown(towns[$0], limit: 20) }
    case .posts:
      let timestamps = (0..<times).map(Self.timestamp)
      return try time { try engine.posts(from: timestamps[$0], limit: 20) }
    case .scan: return try time { _ in try engine.scan() }
    case .scanInTwo: return try time { _ in try engine.scanInTwo() }
    }
  }

  /// Warms up: loads the documents and the pages that are read to find them, as far as these fit into memory.
  /// Otherwise a measurement of a large store would include the first read of each page. Returns the sum of
  /// the visited documents.
  func warm<Database: DocumentEngine>(_ engine: Database, documents: Int) throws -> Int {
    let scanned = try engine.scan()
    switch self {
    case .get:
      return try Self.warmUpNumbers(documents).reduce(0) { try $0 &+ engine.get(Database.key($1)) }
    case .byScore: return try engine.byScore(from: SampleDocument.scores.lowerBound, limit: documents)
    case .usersInTown:
      return try (0..<SampleDocument.towns).reduce(0) {
        try $0 &+ engine.usersInTown("Town \($1)", limit: documents)
      }
    case .posts: return try engine.posts(from: SampleDocument.firstTime, limit: documents)
    case .scan, .scanInTwo: return scanned
    }
  }

  /// The numbers of documents that together touch every page of documents, and every page that is read to
  /// find them.
  static func warmUpNumbers(_ documents: Int) -> StrideTo<Int> { stride(from: 0, to: documents, by: 7) }

  private func time(_ query: (Int) throws -> Int) throws -> (seconds: Double, sum: Int) {
    // Runs all queries once to warm up, because the other variants of each query are also measured after a
    // warm-up.
    for index in 0..<times { _ = try query(index) }
    var sum = 0
    let time = try ContinuousClock().measure { for index in 0..<times { sum &+= try query(index) } }
    return (time / .seconds(1) / Double(times), sum)
  }
}

private struct ReadRound: Engine {
  var type: any DocumentEngine.Type
  var queries: [ReadQuery]
  var name: String { type.name }

  static func all(_ queries: () -> [ReadQuery]) -> [any Engine] {
    Engines.all.map { ReadRound(type: $0, queries: queries()) }
  }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    var results: [String: Double] = [:]
    // A local copy, because the compiler cannot open the existential type of a property.
    let database = type
    for isFull in [true, false] {
      for (metric, value) in try measured(database, isFull: isFull, context) {
        results[isFull ? metric : "eighth_cache_\(metric)"] = value
      }
    }
    return results
  }

  private func measured<Database: DocumentEngine>(
    _ type: Database.Type, isFull: Bool, _ context: RunContext
  ) throws -> [String: Double] {
    let options = context.options
    let engine = try type.init(
      context.stores.directory(of: type),
      EngineSetup(cacheBytes: isFull ? options.cacheBytes : options.eighthOfDataBytes))
    var results: [String: Double] = [:]
    // All variants of one workload must have equal sums.
    if let query = queries.first {
      let sum = try query.warm(engine, documents: options.documents)
      try context.answers.note("before \(query)", sum, of: name)
    }
    for query in queries {
      let (seconds, sum) = try query.run(engine, documents: options.documents)
      try context.answers.note("\(query)", sum, of: name)
      let isRate = query.metric.hasSuffix("_per_s")
      results[query.metric] = isRate ? Double(options.documents) / seconds : seconds * 1e9
    }
    try engine.close()
    return results
  }
}
