// Databases with the sample documents. Each query returns the sum of `SampleDocument.weight` over the
// documents that it finds, so that a wrong result is detected. Each engine visits every field of each
// document. It keeps the three indexes that the queries need: users by score, users by town and creation
// time, posts of all users by creation time.

import BenchmarkReports
import Foundation
import SampleDocuments

/// The settings of an engine for a run.
struct EngineSetup: Sendable {
  enum Purpose: Sendable { case use, load, coldOpen, crash }

  /// The size of the engine's own cache, if it has one.
  var cacheBytes = 2 << 30
  /// `load`: nothing needs to be durable before the load ends. `coldOpen`: none of the database is in the
  /// system's page cache. `crash`: all data stays in the log.
  var purpose = Purpose.use
}

/// One database in a directory. Several threads may write. Only one thread reads, except in `scanInTwo`.
protocol DocumentEngine: AnyObject, Sendable {
  /// The prepared input of one commit.
  associatedtype Writes: Sendable
  /// The prepared input of one commit that updates scores.
  associatedtype Updates: Sendable
  /// The engine's key for a document.
  associatedtype Key: Sendable

  static var name: String { get }
  /// The engine's settings and the reasons for them.
  static var settings: String { get }
  /// False for LMDB, which writes no log and has nothing to recover.
  static var hasLog: Bool { get }

  /// Opens the database, or creates one with its indexes. With the purpose `load`, the indexes may be
  /// built at the end.
  init(_ directory: URL, _ setup: EngineSetup) throws
  func close() throws

  static func writes(_ numbers: [Int]) throws -> Writes
  static func updates(_ numbers: [Int], revision: Int) throws -> Updates
  static func key(_ number: Int) throws -> Key

  /// Writes `writes` in one commit. The commit is durable, except with the purpose `load`.
  func write(_ writes: Writes) throws
  /// Updates scores and the score index in one durable commit.
  func update(_ updates: Updates) throws
  /// Ends a load. Afterwards all data is indexed, compressed and on stable storage.
  func finishLoad() throws
  /// Merges the sorted runs that remain after a load, if the merge makes reads faster.
  func compact() throws
  /// Writes a copy of minimal size. Returns false if the database is already minimal.
  func compactedCopy(to directory: URL) throws -> Bool

  /// W5: one document by its path.
  func get(_ key: Key) throws -> Int
  /// W6: users with at least this score, ordered by score.
  func byScore(from score: Double, limit: Int) throws -> Int
  /// W7: users of a town, newest first.
  func usersInTown(_ town: String, limit: Int) throws -> Int
  /// Users of a town up to a creation time, newest first. Used to find a single user in the index.
  func usersInTown(_ town: String, until time: Int, limit: Int) throws -> Int
  /// W8: posts of all users from this creation time on, ordered by creation time.
  func posts(from time: Int, limit: Int) throws -> Int
  /// W9: all documents.
  func scan() throws -> Int
  /// W9 on two threads.
  func scanInTwo() throws -> Int
}

extension DocumentEngine {
  static var hasLog: Bool { true }

  func compact() throws {}
  func compactedCopy(to directory: URL) throws -> Bool { false }

  /// Returns the sum of the results of all ordered queries. This sum proves that every index is complete and
  /// in order.
  func weightOfOrderedAnswers(_ documents: Int) throws -> Int {
    try byScore(from: 0, limit: documents) &+ posts(from: SampleDocument.firstTime, limit: documents)
      &+ (0..<SampleDocument.towns).reduce(0) { try $0 &+ usersInTown("Town \($1)", limit: documents) }
  }

  ///  Loads the pages of paths and indexes that a write reads. The function scans all documents in their
  ///  stored order, and looks up every 31st document by its path. It also looks up one in 32 entries of each
  ///  index, which touches nearly every index page. Scanning millions of documents in index order would take
  ///  minutes. Returns the checksum of all results.
  func visitIndexes(_ documents: Int) throws -> Int {
    var sum = try scan()
    for number in stride(from: 0, to: documents, by: 31) {
      sum = SampleDocument.next(sum, try get(Self.key(number)))
    }
    let steps = documents / 64
    for step in 0..<steps {
      let part = Double(step) / Double(steps)
      let time = SampleDocument.firstTime + Int(part * Double(SampleDocument.timeSpan))
      let town = "Town \(step % SampleDocument.towns)"
      sum = SampleDocument.next(sum, try byScore(from: SampleDocument.scores.upperBound * part, limit: 1))
      sum = SampleDocument.next(sum, try posts(from: time, limit: 1))
      sum = SampleDocument.next(sum, try usersInTown(town, until: time, limit: 1))
    }
    return sum
  }

  /// Looks up each of these documents in each index that contains it, by a value that no other document has.
  func requireInIndexes(_ numbers: Range<Int>) throws {
    for number in numbers {
      let document = SampleDocument(number)
      let answers =
        document.isPost
        ? [try posts(from: document.createdAt, limit: 1)]
        : [
          try byScore(from: document.score, limit: 1),
          try usersInTown(document.town, until: document.createdAt, limit: 1),
        ]
      for answer in answers {
        guard answer == SampleDocument.next(0, document.weight) else {
          throw BenchmarkFailure("an index of \(Self.name) does not lead to \(document.path)")
        }
      }
    }
  }

  /// Loads all documents into a new directory, in commits of 500. The input is prepared between the
  /// timed parts. Returns the time of the timed parts.
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

/// All engines of this build, Dugout first.
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

  /// The name and settings of each compared engine.
  static var settings: [(name: String, text: String)] {
    all.map { ($0.name, $0.settings) } + JSONPeers.all.map { ($0.name, $0.settings) }
      + BlobEngines.peers.map { ("\($0.name), contents", $0.settings) }
  }

  /// The peers that are not installed. Plain files are always there.
  static var missing: [Peer] {
    let installed = Set(peers.compactMap { Peer(engine: $0.name) })
    return Peer.allCases.filter { $0.package != nil && !installed.contains($0) }
  }
}
