#if LMDB
internal import CLMDB
import Foundation

/// LMDB. Reads take the pages of the map as they are; a reader is reset and renewed rather than made anew.
final class LMDBStore: KeyValueStore, @unchecked Sendable {
  static let name = "lmdb"
  static let hasLog = false
  static let settings = """
    Its own default for durable commits: one sync of data, one of the meta page. NORDAHEAD, because reads are random \
    and the device reads ahead far; NOTLS and a pool of reset readers, so that a read costs a renewal and no \
    allocation. Loads run with NOSYNC and WRITEMAP and end with a sync. It has no cache of its own: what the system \
    has in memory serves, in runs with small caches too. It does not compress.
    """

  // Why @unchecked Sendable holds: the environment and the database never change, LMDB takes them from any thread and
  // lets one writer in at a time, and a reader may change its thread under NOTLS as long as one uses it: it is taken out
  // of the pool for a read and put back after it, and the pool is guarded by the lock. Nothing is open at `close`.
  private let environment: OpaquePointer
  private let database: MDB_dbi
  private var idle: [OpaquePointer] = []
  private let lock = NSLock()

  init(_ directory: URL, _ setup: EngineSetup) throws {
    var environment: OpaquePointer?
    try Self.check(mdb_env_create(&environment))
    guard let environment else { throw BenchmarkFailure("LMDB made no environment") }
    try Self.check(mdb_env_set_mapsize(environment, 64 << 30))
    var flags = UInt32(MDB_NORDAHEAD | MDB_NOTLS)
    if setup.purpose == .load { flags |= UInt32(MDB_NOSYNC | MDB_WRITEMAP) }
    try Self.check(mdb_env_open(environment, directory.path, flags, 0o600))
    var transaction: OpaquePointer?
    try Self.check(mdb_txn_begin(environment, nil, 0, &transaction))
    var database: MDB_dbi = 0
    try Self.check(mdb_dbi_open(transaction, nil, 0, &database))
    try Self.check(mdb_txn_commit(transaction))
    self.environment = environment
    self.database = database
  }

  func write(_ changes: KeyValueChanges) throws {
    var transaction: OpaquePointer?
    try Self.check(mdb_txn_begin(environment, nil, 0, &transaction))
    do {
      try changes.forEach { key, value in
        var key = MDB_val(key)
        if let value {
          var value = MDB_val(value)
          try Self.check(mdb_put(transaction, database, &key, &value, 0))
        } else {
          try Self.check(mdb_del(transaction, database, &key, nil))
        }
      }
    } catch {
      mdb_txn_abort(transaction)
      throw error
    }
    try Self.check(mdb_txn_commit(transaction))
  }

  func read<Result>(_ body: (Reader) throws -> Result) throws -> Result {
    var transaction = lock.withLock { idle.popLast() }
    if let transaction {
      try Self.check(mdb_txn_renew(transaction))
    } else {
      try Self.check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
    }
    guard let transaction else { throw BenchmarkFailure("LMDB made no reader") }
    defer {
      mdb_txn_reset(transaction)
      lock.withLock { idle.append(transaction) }
    }
    return try body(Reader(transaction: transaction, database: database))
  }

  func finishLoad() throws { try Self.check(mdb_env_sync(environment, 1)) }

  func close() throws {
    for reader in lock.withLock({ idle }) { mdb_txn_abort(reader) }
    mdb_env_close(environment)
  }

  struct Reader: KeyValueReader {
    fileprivate var transaction: OpaquePointer
    fileprivate var database: MDB_dbi

    func get(_ key: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Int) throws -> Int? {
      var key = MDB_val(key)
      var value = MDB_val()
      let code = mdb_get(transaction, database, &key, &value)
      guard code != MDB_NOTFOUND else { return nil }
      try LMDBStore.check(code)
      return body(UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
    }

    func walk(
      from start: [UInt8], _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
      var cursor: OpaquePointer?
      try LMDBStore.check(mdb_cursor_open(transaction, database, &cursor))
      defer { mdb_cursor_close(cursor) }
      var key = MDB_val()
      var value = MDB_val()
      var code = start.withUnsafeBytes { start in
        key = MDB_val(start)
        return mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
      }
      while code != MDB_NOTFOUND {
        try LMDBStore.check(code)
        let goesOn = try body(
          UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size),
          UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
        guard goesOn else { return }
        code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
      }
    }
  }

  fileprivate static func check(_ code: Int32) throws {
    guard code != 0 else { return }
    throw BenchmarkFailure("LMDB: \(String(cString: mdb_strerror(code)))")
  }
}

extension MDB_val {
  fileprivate init(_ bytes: UnsafeRawBufferPointer) {
    self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }
}
#endif
