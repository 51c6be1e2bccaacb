// RocksDB: 64 MB of memtable, LZ4, recycled logs, and both cores for its background work.

#if ROCKSDB
import CRocksDB
import Foundation

final class RocksDBEngine: ByteEngine, @unchecked Sendable {
  // The pointers never change, and RocksDB itself may be called from any thread.
  static let name = "rocksdb"
  private let database: OpaquePointer
  private let writing: OpaquePointer
  private let reading: OpaquePointer

  init(_ directory: URL) throws {
    guard let options = rocksdb_options_create(), let writing = rocksdb_writeoptions_create(),
      let reading = rocksdb_readoptions_create()
    else { throw BenchmarkFailure("RocksDB has no memory for its options") }
    rocksdb_options_set_create_if_missing(options, 1)
    rocksdb_options_set_write_buffer_size(options, 64 << 20)
    rocksdb_options_set_compression(options, Int32(rocksdb_lz4_compression))
    rocksdb_options_set_recycle_log_file_num(options, 4)
    rocksdb_options_increase_parallelism(options, 2)
    rocksdb_writeoptions_set_sync(writing, 1)
    var failure: UnsafeMutablePointer<CChar>?
    let opened = rocksdb_open(options, directory.appendingPathComponent("store").path, &failure)
    try Self.check(failure)
    guard let opened else { throw BenchmarkFailure("RocksDB did not open") }
    database = opened
    self.writing = writing
    self.reading = reading
  }

  func commit(_ entries: ArraySlice<ByteEntry>) throws {
    let batch = rocksdb_writebatch_create()
    defer { rocksdb_writebatch_destroy(batch) }
    for entry in entries {
      entry.key.withUnsafeBytes { key in
        entry.value.withUnsafeBytes { value in
          rocksdb_writebatch_put(
            batch, key.assumingMemoryBound(to: CChar.self).baseAddress, key.count,
            value.assumingMemoryBound(to: CChar.self).baseAddress, value.count)
        }
      }
    }
    var failure: UnsafeMutablePointer<CChar>?
    rocksdb_write(database, writing, batch, &failure)
    try Self.check(failure)
  }

  func value(for key: [UInt8]) throws -> [UInt8]? {
    var failure: UnsafeMutablePointer<CChar>?
    var count = 0
    let found = key.withUnsafeBytes { key in
      rocksdb_get(
        database, reading, key.assumingMemoryBound(to: CChar.self).baseAddress, key.count, &count,
        &failure)
    }
    try Self.check(failure)
    guard let found else { return nil }
    defer { rocksdb_free(found) }
    return [UInt8](UnsafeRawBufferPointer(start: found, count: count))
  }

  func close() throws { rocksdb_close(database) }

  private static func check(_ failure: UnsafeMutablePointer<CChar>?) throws {
    guard let failure else { return }
    defer { rocksdb_free(failure) }
    throw BenchmarkFailure("RocksDB: \(String(cString: failure))")
  }
}
#endif
