// Databases that hold the sample documents and answer questions about them. Every answer is the sum of
// `SampleDocument.weight` over its documents, so that engines that answer differently are found out. Each engine
// visits every field of each document, and keeps the three indexes that the questions need: users by score, users by
// town and moment, posts of all users by moment.

import Foundation

/// What a run asks of an engine.
struct EngineSetup: Sendable {
  enum Purpose: Sendable { case use, load, coldOpen, crash }

  /// For the engine's own cache, where it has one.
  var cacheBytes = 2 << 30
  /// `load`: nothing is durable before the end. `coldOpen`: nothing is in the system's cache. `crash`: everything
  /// stays in the log.
  var purpose = Purpose.use
}

/// One database in a directory. Writes may come from several threads, reads from one but for `scanInTwo`.
protocol DocumentEngine: AnyObject, Sendable {
  /// What one commit takes, made ahead of it.
  associatedtype Writes: Sendable
  /// What one update of scores takes, made ahead of it.
  associatedtype Updates: Sendable
  /// How a document is asked for.
  associatedtype Key: Sendable

  static var name: String { get }
  /// How it is set up, and why so.
  static var settings: String { get }
  /// LMDB writes no log, so that there is nothing to recover.
  static var hasLog: Bool { get }

  /// Opens the database, or makes one with its indexes; with the purpose `load`, indexes may come at the end.
  init(_ directory: URL, _ setup: EngineSetup) throws
  func close() throws

  static func writes(_ numbers: [Int]) throws -> Writes
  static func updates(_ numbers: [Int], revision: Int) throws -> Updates
  static func key(_ number: Int) throws -> Key

  /// In one commit, durable but under the purpose `load`.
  func write(_ writes: Writes) throws
  /// In one durable commit; the index by scores follows.
  func update(_ updates: Updates) throws
  /// Ends a load: indexed, compressed, on stable storage.
  func finishLoad() throws
  /// Merges what a load leaves in several places, where reads are the faster for it.
  func compact() throws
  /// A copy of the database that is as small as it can be made; false where it cannot be smaller than it is.
  func compactedCopy(to directory: URL) throws -> Bool

  /// W5: one document by its path.
  func get(_ key: Key) throws -> Int
  /// W6: users from a score on, in the order of scores.
  func byScore(from score: Double, limit: Int) throws -> Int
  /// W7: users of a town, newest first.
  func ofTown(_ town: String, limit: Int) throws -> Int
  /// Users of a town up to a moment, newest first: how one of them is found in that index.
  func ofTown(_ town: String, until moment: Int, limit: Int) throws -> Int
  /// W8: posts of all users from a moment on, in that order.
  func posts(from moment: Int, limit: Int) throws -> Int
  /// W9: all documents.
  func scan() throws -> Int
  /// The same on two threads.
  func scanInTwo() throws -> Int
}

extension DocumentEngine {
  static var hasLog: Bool { true }

  func compact() throws {}
  func compactedCopy(to directory: URL) throws -> Bool { false }

  /// The sum of all answers that have an order: every index is there, and has everything in its place.
  func weightOfIndexes(_ documents: Int) throws -> Int {
    try byScore(from: 0, limit: documents) &+ posts(from: SampleDocument.firstMoment, limit: documents)
      &+ (0..<SampleDocument.towns).reduce(0) { try $0 &+ ofTown("Town \($1)", limit: documents) }
  }

  /// Has in memory what a write reads of paths and indexes. All documents are visited in their own order; of an index one
  /// of every 32 entries is looked for, so that nearly each of its pages is touched, and of paths one in 31. A visit to all
  /// in the order of an index would take minutes where there are millions. The sum of the answers.
  func visitIndexes(_ documents: Int) throws -> Int {
    var sum = try scan()
    for number in stride(from: 0, to: documents, by: 31) {
      sum = SampleDocument.next(sum, try get(Self.key(number)))
    }
    let steps = documents / 64
    for step in 0..<steps {
      let part = Double(step) / Double(steps)
      let moment = SampleDocument.firstMoment + Int(part * Double(SampleDocument.momentsWidth))
      let town = "Town \(step % SampleDocument.towns)"
      sum = SampleDocument.next(sum, try byScore(from: SampleDocument.scores.upperBound * part, limit: 1))
      sum = SampleDocument.next(sum, try posts(from: moment, limit: 1))
      sum = SampleDocument.next(sum, try ofTown(town, until: moment, limit: 1))
    }
    return sum
  }

  /// Looks for each of these documents in each of its indexes, by what only it has.
  func requireInIndexes(_ numbers: Range<Int>) throws {
    for number in numbers {
      let document = SampleDocument(number)
      let answers =
        document.isPost
        ? [try posts(from: document.moment, limit: 1)]
        : [
          try byScore(from: document.score, limit: 1),
          try ofTown(document.town, until: document.moment, limit: 1),
        ]
      for answer in answers {
        guard answer == SampleDocument.next(0, document.weight) else {
          throw BenchmarkFailure("an index of \(Self.name) does not lead to \(document.path)")
        }
      }
    }
  }

  /// Loads all documents into a fresh directory, in commits of 500. What is written is made in windows between the
  /// timed parts; the result is the time of those.
  static func load(_ count: Int, in directory: URL, window: Int) throws -> Duration {
    let clock = ContinuousClock()
    var time = Duration.zero
    var engine: Self?
    time += try clock.measure { engine = try Self(directory, EngineSetup(purpose: .load)) }
    for start in stride(from: 0, to: count, by: window) {
      let end = min(start + window, count)
      let batches = try stride(from: start, to: end, by: 500).map {
        try Self.writes(Array($0..<min($0 + 500, end)))
      }
      time += try clock.measure { for batch in batches { try engine?.write(batch) } }
    }
    time += try clock.measure {
      try engine?.finishLoad()
      try engine?.close()
    }
    return time
  }
}

/// All that are built in, ours first.
enum Engines {
  static let dugout: any DocumentEngine.Type = DugoutDocuments.self

  static var peers: [any DocumentEngine.Type] {
    var peers: [any DocumentEngine.Type] = []
    #if SQLITE
    peers += [SQLiteColumns.self, SQLiteJSON.self, SQLiteGenerated.self]
    #endif
    #if LMDB
    peers.append(KeyValueDocuments<LMDBStore>.self)
    #endif
    #if ROCKSDB
    peers.append(KeyValueDocuments<RocksDBStore>.self)
    #endif
    #if LEVELDB
    peers.append(KeyValueDocuments<LevelDBStore>.self)
    #endif
    return peers
  }

  static var all: [any DocumentEngine.Type] { [dugout] + peers }

  /// Of everybody that is compared, with what was chosen for it.
  static var settings: [(name: String, text: String)] {
    all.map { ($0.name, $0.settings) } + BlobEngines.peers.map { ("\($0.name), contents", $0.settings) }
  }

  /// What installs those that need something.
  static let packages = [
    ("sqlite", "libsqlite3-dev"), ("lmdb", "liblmdb-dev"), ("rocksdb", "librocksdb-dev"),
    ("leveldb", "libleveldb-dev"),
  ]

  /// The names that `--peers` knows. Plain files are there without a package.
  static let peerNames = packages.map(\.0) + [FileBlobs.name]

  static var missing: [(name: String, package: String)] {
    packages.filter { package in !peers.contains { family(of: $0.name) == package.0 } }
  }

  /// SQLite's three forms are one peer.
  static func family(of name: String) -> String { String(name.prefix { $0 != "-" && $0 != "," }) }

  static func isPeer(_ name: String) -> Bool { peerNames.contains(family(of: name)) }
}
