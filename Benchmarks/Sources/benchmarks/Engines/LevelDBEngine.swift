// LevelDB: 64 MB of memtable, so that few tables are written while it is measured; 1 GB of cache, bloom filters.

#if LEVELDB
import CLevelDB
import Foundation

final class LevelDBEngine: ByteEngine, @unchecked Sendable {
  // The pointers never change, and LevelDB itself may be called from any thread.
  static let name = "leveldb"
  private let database: OpaquePointer
  private let writing: OpaquePointer
  private let reading: OpaquePointer

  init(_ directory: URL) throws {
    guard let options = leveldb_options_create(), let writing = leveldb_writeoptions_create(),
      let reading = leveldb_readoptions_create()
    else { throw BenchmarkFailure("LevelDB has no memory for its options") }
    leveldb_options_set_create_if_missing(options, 1)
    leveldb_options_set_write_buffer_size(options, 64 << 20)
    leveldb_options_set_cache(options, leveldb_cache_create_lru(1 << 30))
    leveldb_options_set_filter_policy(options, leveldb_filterpolicy_create_bloom(10))
    leveldb_writeoptions_set_sync(writing, 1)
    var failure: UnsafeMutablePointer<CChar>?
    let opened = leveldb_open(options, directory.appendingPathComponent("store").path, &failure)
    try Self.check(failure)
    guard let opened else { throw BenchmarkFailure("LevelDB did not open") }
    database = opened
    self.writing = writing
    self.reading = reading
  }

  func commit(_ entries: ArraySlice<ByteEntry>) throws {
    let batch = leveldb_writebatch_create()
    defer { leveldb_writebatch_destroy(batch) }
    for entry in entries {
      entry.key.withUnsafeBytes { key in
        entry.value.withUnsafeBytes { value in
          leveldb_writebatch_put(
            batch, key.assumingMemoryBound(to: CChar.self).baseAddress, key.count,
            value.assumingMemoryBound(to: CChar.self).baseAddress, value.count)
        }
      }
    }
    var failure: UnsafeMutablePointer<CChar>?
    leveldb_write(database, writing, batch, &failure)
    try Self.check(failure)
  }

  func value(for key: [UInt8]) throws -> [UInt8]? {
    var failure: UnsafeMutablePointer<CChar>?
    var count = 0
    let found = key.withUnsafeBytes { key in
      leveldb_get(
        database, reading, key.assumingMemoryBound(to: CChar.self).baseAddress, key.count, &count,
        &failure)
    }
    try Self.check(failure)
    guard let found else { return nil }
    defer { leveldb_free(found) }
    return [UInt8](UnsafeRawBufferPointer(start: found, count: count))
  }

  func close() throws { leveldb_close(database) }

  private static func check(_ failure: UnsafeMutablePointer<CChar>?) throws {
    guard let failure else { return }
    defer { leveldb_free(failure) }
    throw BenchmarkFailure("LevelDB: \(String(cString: failure))")
  }
}
#endif
