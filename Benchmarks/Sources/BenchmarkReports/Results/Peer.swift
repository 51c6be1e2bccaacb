// The products that the benchmarks compare with Dugout.

package enum Peer: String, CaseIterable, Sendable {
  case sqlite, lmdb, rocksdb, leveldb, files

  /// Returns nil for Dugout, for the limits of the machine, and for unknown engines.
  ///
  /// A peer has several engines, one for each of its forms: `sqlite-json` and `sqlite-json, JSONDecoder` are
  /// SQLite.
  package init?(engine: String) {
    self.init(rawValue: String(engine.prefix { $0 != "-" && $0 != "," }))
  }

  package var title: String {
    switch self {
    case .sqlite: "SQLite"
    case .lmdb: "LMDB"
    case .rocksdb: "RocksDB"
    case .leveldb: "LevelDB"
    case .files: "files"
    }
  }

  /// The package that installs the peer. Plain files need none.
  package var package: String? {
    switch self {
    case .sqlite: "libsqlite3-dev"
    case .lmdb: "liblmdb-dev"
    case .rocksdb: "librocksdb-dev"
    case .leveldb: "libleveldb-dev"
    case .files: nil
    }
  }
}
