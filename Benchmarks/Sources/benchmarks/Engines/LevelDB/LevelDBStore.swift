#if LEVELDB
internal import CLevelDB
import Foundation

final class LevelDBStore: KeyValueStore, @unchecked Sendable {
  static let name = "leveldb"
  static let hasLog = true
  static let settings = """
    64 MB of memtable, so that few tables are written while it is measured; an LRU cache of the given size; bloom \
    filters of 10 bits a key, so that a read looks into one table; Snappy, its default. Durable commits are synced \
    writes, which it groups. Loads are not synced, and end with a synced write and \
    what was in memory in a table; the stores that are read are compacted as a whole, outside of the clock.
    """

  // @unchecked Sendable holds because the pointers never change, and LevelDB accepts calls from any thread.
  // The write options that `writing` points to change only at the end of a load, which runs on one thread. No
  // call follows `close`.
  private let database: OpaquePointer
  private let options: OpaquePointer
  private let cache: OpaquePointer?
  private let filter: OpaquePointer?
  private let writing: OpaquePointer
  private let reading: OpaquePointer

  init(_ directory: URL, _ setup: EngineSetup) throws {
    guard let options = leveldb_options_create(), let writing = leveldb_writeoptions_create(),
      let reading = leveldb_readoptions_create()
    else { throw BenchmarkFailure("LevelDB has no memory for its options") }
    self.options = options
    self.writing = writing
    self.reading = reading
    cache = leveldb_cache_create_lru(setup.cacheBytes)
    filter = leveldb_filterpolicy_create_bloom(10)
    leveldb_options_set_create_if_missing(options, 1)
    // With the purpose `crash`, all data must still be in the log.
    leveldb_options_set_write_buffer_size(options, setup.purpose == .crash ? 1 << 30 : 64 << 20)
    leveldb_options_set_cache(options, cache)
    leveldb_options_set_filter_policy(options, filter)
    leveldb_writeoptions_set_sync(writing, setup.purpose == .load ? 0 : 1)
    var failure: UnsafeMutablePointer<CChar>?
    let opened = leveldb_open(options, directory.path, &failure)
    try Self.check(failure)
    guard let opened else { throw BenchmarkFailure("LevelDB did not open") }
    database = opened
  }

  func write(_ changes: KeyValueChanges) throws {
    let batch = leveldb_writebatch_create()
    defer { leveldb_writebatch_destroy(batch) }
    try changes.forEach { key, value in
      if let value {
        leveldb_writebatch_put(batch, key.characters, key.count, value.characters, value.count)
      } else {
        leveldb_writebatch_delete(batch, key.characters, key.count)
      }
    }
    try write(batch)
  }

  private func write(_ batch: OpaquePointer?) throws {
    var failure: UnsafeMutablePointer<CChar>?
    leveldb_write(database, writing, batch, &failure)
    try Self.check(failure)
  }

  func read<Result>(_ body: (Reader) throws -> Result) throws -> Result {
    try body(Reader(database: database, reading: reading))
  }

  func finishLoad() throws {
    leveldb_writeoptions_set_sync(writing, 1)
    let batch = leveldb_writebatch_create()
    defer { leveldb_writebatch_destroy(batch) }
    try write(batch)
    // Compacting a range after all keys flushes the memtable to a table without merging.
    leveldb_compact_range(database, "~", 1, "~", 1)
  }

  func compact() throws { leveldb_compact_range(database, nil, 0, nil, 0) }

  func close() throws {
    leveldb_close(database)
    leveldb_options_destroy(options)
    leveldb_writeoptions_destroy(writing)
    leveldb_readoptions_destroy(reading)
    if let cache { leveldb_cache_destroy(cache) }
    if let filter { leveldb_filterpolicy_destroy(filter) }
  }

  struct Reader: KeyValueReader {
    fileprivate var database: OpaquePointer
    fileprivate var reading: OpaquePointer

    func get(_ key: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Int) throws -> Int? {
      var failure: UnsafeMutablePointer<CChar>?
      var count = 0
      let found = leveldb_get(database, reading, key.characters, key.count, &count, &failure)
      try LevelDBStore.check(failure)
      guard let found else { return nil }
      defer { leveldb_free(found) }
      return body(UnsafeRawBufferPointer(start: found, count: count))
    }

    func walk(
      from start: [UInt8], _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
      let iterator = leveldb_create_iterator(database, reading)
      defer { leveldb_iter_destroy(iterator) }
      start.withUnsafeBytes { leveldb_iter_seek(iterator, $0.characters, $0.count) }
      while leveldb_iter_valid(iterator) != 0 {
        var (keyCount, valueCount) = (0, 0)
        let key = leveldb_iter_key(iterator, &keyCount)
        let value = leveldb_iter_value(iterator, &valueCount)
        let shouldContinue = try body(
          UnsafeRawBufferPointer(start: key, count: keyCount),
          UnsafeRawBufferPointer(start: value, count: valueCount))
        guard shouldContinue else { return }
        leveldb_iter_next(iterator)
      }
      var failure: UnsafeMutablePointer<CChar>?
      leveldb_iter_get_error(iterator, &failure)
      try LevelDBStore.check(failure)
    }
  }

  fileprivate static func check(_ failure: UnsafeMutablePointer<CChar>?) throws {
    guard let failure else { return }
    defer { leveldb_free(failure) }
    throw BenchmarkFailure("LevelDB: \(String(cString: failure))")
  }
}
#endif
