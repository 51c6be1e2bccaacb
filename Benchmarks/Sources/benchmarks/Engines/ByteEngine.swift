// Stores of keys and values, each set up as its own experts would for durable writes.

import Foundation

/// One store, open in a directory. Used from several threads at once.
protocol ByteEngine: Sendable {
  static var name: String { get }
  init(_ directory: URL) throws
  /// Returns once all entries are on stable storage.
  func commit(_ entries: ArraySlice<ByteEntry>) throws
  func value(for key: [UInt8]) throws -> [UInt8]?
  func close() throws
}

struct ByteEntry {
  var key: [UInt8]
  var value: [UInt8]
}

/// What the product is compared with.
enum Peers {
  static let names: Set = ["leveldb", "rocksdb", "sqlite"]

  static var installed: [any ByteEngine.Type] {
    var peers: [any ByteEngine.Type] = []
    #if LEVELDB
    peers.append(LevelDBEngine.self)
    #endif
    #if ROCKSDB
    peers.append(RocksDBEngine.self)
    #endif
    return peers
  }

  static var missing: [(name: String, package: String)] {
    let found = Set(installed.map { $0.name })
    return [("leveldb", "libleveldb-dev"), ("rocksdb", "librocksdb-dev")].filter { !found.contains($0.0) }
  }
}
