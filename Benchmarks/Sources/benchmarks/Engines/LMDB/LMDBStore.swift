#if LMDB
internal import CLMDB
import Foundation
import Synchronization

/// LMDB. Reads use the mapped pages directly. A read resets and renews an existing read transaction instead
/// of creating one.
final class LMDBStore: KeyValueStore, @unchecked Sendable {
  static let name = "lmdb"
  static let hasLog = false
  static var version: String {
    var (major, minor, patch): (Int32, Int32, Int32) = (0, 0, 0)
    mdb_version(&major, &minor, &patch)
    return "\(major).\(minor).\(patch)"
  }
  static let settings = """
    Its own default for durable commits: one sync of data, one of the meta page. NORDAHEAD, because reads are random \
    and the device reads ahead far; NOTLS and a pool of reset readers, so that a read costs a renewal and no \
    allocation. Loads run with NOSYNC and WRITEMAP, in transactions of 20,000 documents, put the entries of indexes in at \
    the end, sorted and with APPEND, and end with a sync. It has no cache of its own: what the system \
    has in memory serves, in runs with small caches too. It does not compress.
    """

  // @unchecked Sendable holds because the environment and the database never change, and LMDB accepts calls
  // from any thread and admits one writer at a time. With NOTLS, a reader may move between threads if only
  // one thread uses it at a time. Each read takes a reader from the pool and returns the reader when the read
  // ends. The lock guards the pool. No read is in progress at `close`.
  private let environment: OpaquePointer
  private let database: MDB_dbi
  private var idle: [OpaquePointer] = []
  private let lock = NSLock()
  /// An idle reader that is not in the pool, or 0. Consecutive reads reuse this reader without taking the
  /// lock.
  private let nearest = Atomic<UInt>(0)
  private var load: LMDBLoad?

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
    if setup.purpose == .load { load = LMDBLoad() }
  }

  func write(_ changes: KeyValueChanges) throws {
    if load != nil { return try writeInLoad(changes) }
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

  /// Writes the documents, and keeps the index entries back until the end of the load. All document keys sort
  /// before all index keys, so the sorted index entries can then be appended.
  private func writeInLoad(_ changes: KeyValueChanges) throws {
    guard var load else { return }
    self.load = nil
    defer { self.load = load }
    if load.transaction == nil { try Self.check(mdb_txn_begin(environment, nil, 0, &load.transaction)) }
    try changes.forEach { key, value in
      guard key[0] == UInt8(ascii: "d"), let record = value else { return load.entries.append(Array(key)) }
      var (key, value) = (MDB_val(key), MDB_val(record))
      try Self.check(mdb_put(load.transaction, database, &key, &value, 0))
      load.documents += 1
    }
    guard load.documents >= LMDBLoad.documentsMax else { return }
    try Self.check(mdb_txn_commit(load.transaction))
    load.transaction = nil
    load.documents = 0
  }

  private func endLoad() throws {
    guard var load else { return }
    self.load = nil
    if load.transaction == nil { try Self.check(mdb_txn_begin(environment, nil, 0, &load.transaction)) }
    load.entries.sort { left, right in
      let order = memcmp(left, right, min(left.count, right.count))
      return order == 0 ? left.count < right.count : order < 0
    }
    for entry in load.entries {
      try entry.withUnsafeBytes { entry in
        var (key, value) = (MDB_val(entry), MDB_val())
        try Self.check(mdb_put(load.transaction, database, &key, &value, UInt32(MDB_APPEND)))
      }
    }
    try Self.check(mdb_txn_commit(load.transaction))
  }

  func read<Result>(_ body: (Reader) throws -> Result) throws -> Result {
    var transaction = OpaquePointer(bitPattern: nearest.exchange(0, ordering: .acquiringAndReleasing))
    if transaction == nil { transaction = lock.withLock { idle.popLast() } }
    if let transaction {
      try Self.check(mdb_txn_renew(transaction))
    } else {
      try Self.check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
    }
    guard let transaction else { throw BenchmarkFailure("LMDB made no reader") }
    defer {
      mdb_txn_reset(transaction)
      let (isKept, _) = nearest.compareExchange(
        expected: 0, desired: UInt(bitPattern: transaction), ordering: .acquiringAndReleasing)
      if !isKept { lock.withLock { idle.append(transaction) } }
    }
    return try body(Reader(transaction: transaction, database: database))
  }

  func finishLoad() throws {
    try endLoad()
    try Self.check(mdb_env_sync(environment, 1))
  }

  func compactedCopy(to directory: URL) throws -> Bool {
    try Self.check(mdb_env_copy2(environment, directory.path, UInt32(MDB_CP_COMPACT)))
    return true
  }

  func close() throws {
    if let reader = OpaquePointer(bitPattern: nearest.exchange(0, ordering: .acquiringAndReleasing)) {
      mdb_txn_abort(reader)
    }
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
        let shouldContinue = try body(
          UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size),
          UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
        guard shouldContinue else { return }
        code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
      }
    }
  }

  fileprivate static func check(_ code: Int32) throws {
    guard code != 0 else { return }
    throw BenchmarkFailure("LMDB: \(String(cString: mdb_strerror(code)))")
  }
}

/// The uncommitted part of a load.
private struct LMDBLoad {
  static let documentsMax = 20_000
  var transaction: OpaquePointer?
  var documents = 0
  var entries: [[UInt8]] = []
}

extension MDB_val {
  fileprivate init(_ bytes: UnsafeRawBufferPointer) {
    self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }
}
#endif
