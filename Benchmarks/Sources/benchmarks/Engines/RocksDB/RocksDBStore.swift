#if ROCKSDB
internal import CRocksDB
import Foundation

final class RocksDBStore: KeyValueStore, @unchecked Sendable {
  static let name = "rocksdb"
  static let hasLog = true
  static let settings = """
    64 MB of memtable and LZ4; an LRU cache of the given size for blocks; bloom filters of 10 bits a key and the hash \
    index inside blocks, for point reads; pinned reads, so that no value is copied; both cores for background work, also \
    for one compaction. Logs grow: it recycles none where it stops at the first torn record, as it does by default. \
    Durable commits are synced writes, which it groups. Loads use its bulk settings and vector memtable without a log, and \
    end with a compaction of everything, which these settings put off.
    """

  // @unchecked Sendable holds because the pointers never change, RocksDB accepts calls from any thread,
  // and the options are constant while the database is open. No call follows `close`.
  private let database: OpaquePointer
  private let options: OpaquePointer
  private let writing: OpaquePointer
  private let reading: OpaquePointer

  init(_ directory: URL, _ setup: EngineSetup) throws {
    guard let options = rocksdb_options_create(), let tables = rocksdb_block_based_options_create(),
      let writing = rocksdb_writeoptions_create(), let reading = rocksdb_readoptions_create()
    else { throw BenchmarkFailure("RocksDB has no memory for its options") }
    self.options = options
    self.writing = writing
    self.reading = reading
    rocksdb_options_set_create_if_missing(options, 1)
    rocksdb_options_set_write_buffer_size(options, setup.purpose == .crash ? 1 << 30 : 64 << 20)
    rocksdb_options_set_compression(options, Int32(rocksdb_lz4_compression))
    rocksdb_options_increase_parallelism(options, 2)
    rocksdb_options_set_max_subcompactions(options, 2)
    let cache = rocksdb_cache_create_lru(setup.cacheBytes)
    rocksdb_block_based_options_set_block_cache(tables, cache)
    rocksdb_cache_destroy(cache)
    rocksdb_block_based_options_set_filter_policy(tables, rocksdb_filterpolicy_create_bloom_full(10))
    rocksdb_block_based_options_set_data_block_index_type(tables, 1)
    rocksdb_block_based_options_set_data_block_hash_ratio(tables, 0.75)
    rocksdb_options_set_block_based_table_factory(options, tables)
    rocksdb_block_based_options_destroy(tables)
    if setup.purpose == .load {
      rocksdb_options_prepare_for_bulk_load(options)
      rocksdb_options_set_memtable_vector_rep(options)
      rocksdb_options_set_allow_concurrent_memtable_write(options, 0)
      rocksdb_writeoptions_disable_WAL(writing, 1)
    } else {
      rocksdb_writeoptions_set_sync(writing, 1)
    }
    var failure: UnsafeMutablePointer<CChar>?
    let opened = rocksdb_open(options, directory.path, &failure)
    try Self.check(failure)
    guard let opened else { throw BenchmarkFailure("RocksDB did not open") }
    database = opened
  }

  func write(_ changes: KeyValueChanges) throws {
    let batch = rocksdb_writebatch_create()
    defer { rocksdb_writebatch_destroy(batch) }
    try changes.forEach { key, value in
      if let value {
        rocksdb_writebatch_put(batch, key.characters, key.count, value.characters, value.count)
      } else {
        rocksdb_writebatch_delete(batch, key.characters, key.count)
      }
    }
    var failure: UnsafeMutablePointer<CChar>?
    rocksdb_write(database, writing, batch, &failure)
    try Self.check(failure)
  }

  func read<Result>(_ body: (Reader) throws -> Result) throws -> Result {
    try body(Reader(database: database, reading: reading))
  }

  func finishLoad() throws {
    let flush = rocksdb_flushoptions_create()
    defer { rocksdb_flushoptions_destroy(flush) }
    var failure: UnsafeMutablePointer<CChar>?
    rocksdb_flush(database, flush, &failure)
    try Self.check(failure)
    rocksdb_compact_range(database, nil, 0, nil, 0)
  }

  func close() throws {
    rocksdb_close(database)
    rocksdb_options_destroy(options)
    rocksdb_writeoptions_destroy(writing)
    rocksdb_readoptions_destroy(reading)
  }

  struct Reader: KeyValueReader {
    fileprivate var database: OpaquePointer
    fileprivate var reading: OpaquePointer

    func get(_ key: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Int) throws -> Int? {
      var failure: UnsafeMutablePointer<CChar>?
      let found = rocksdb_get_pinned(database, reading, key.characters, key.count, &failure)
      try RocksDBStore.check(failure)
      guard let found else { return nil }
      defer { rocksdb_pinnableslice_destroy(found) }
      var count = 0
      let value = rocksdb_pinnableslice_value(found, &count)
      return body(UnsafeRawBufferPointer(start: value, count: count))
    }

    func walk(
      from start: [UInt8], _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
      let iterator = rocksdb_create_iterator(database, reading)
      defer { rocksdb_iter_destroy(iterator) }
      start.withUnsafeBytes { rocksdb_iter_seek(iterator, $0.characters, $0.count) }
      while rocksdb_iter_valid(iterator) != 0 {
        var (keyCount, valueCount) = (0, 0)
        let key = rocksdb_iter_key(iterator, &keyCount)
        let value = rocksdb_iter_value(iterator, &valueCount)
        let shouldContinue = try body(
          UnsafeRawBufferPointer(start: key, count: keyCount),
          UnsafeRawBufferPointer(start: value, count: valueCount))
        guard shouldContinue else { return }
        rocksdb_iter_next(iterator)
      }
      var failure: UnsafeMutablePointer<CChar>?
      rocksdb_iter_get_error(iterator, &failure)
      try RocksDBStore.check(failure)
    }
  }

  fileprivate static func check(_ failure: UnsafeMutablePointer<CChar>?) throws {
    guard let failure else { return }
    defer { rocksdb_free(failure) }
    throw BenchmarkFailure("RocksDB: \(String(cString: failure))")
  }
}
#endif
