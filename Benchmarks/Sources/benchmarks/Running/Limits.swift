// The limits of the machine, measured in the same run as the engines. The charts show the limits as lines.

internal import CLZ4Limit
import Foundation
import SampleDocuments

enum Limits {
  static let device = "limit: device"
  static let lz4 = "limit: LZ4"
  static let memory = "limit: memory"

  /// Overwrites `count` pieces of an existing file, each of `byteCount` bytes, and syncs after each piece.
  static func syncedWrites(
    of byteCount: Int, _ count: Int, threads: Int, in directory: URL
  ) throws -> [String: Double] {
    let bytes = [UInt8](repeating: 0x5A, count: byteCount)
    let file = open(directory.appendingPathComponent("pieces").path, O_RDWR | O_CREAT, 0o600)
    guard file >= 0 else { throw BenchmarkFailure("the file for the device's limit was not made") }
    defer { close(file) }
    @Sendable func write(_ index: Int) throws {
      guard pwrite(file, bytes, bytes.count, off_t(index * bytes.count)) == bytes.count else {
        throw BenchmarkFailure("a piece was not written whole")
      }
    }
    for index in 0..<count { try write(index) }
    try sync(file)
    return try CommitTimes.measure(count, threads: threads) { index in
      try write(index)
      try sync(file)
    }
  }

  private static func sync(_ file: Int32) throws {
    #if canImport(Darwin)
    let failed = fcntl(file, F_FULLFSYNC) != 0
    #else
    let failed = fdatasync(file) != 0
    #endif
    if failed { throw BenchmarkFailure("a sync failed with error \(errno)") }
  }

  /// Returns the nanoseconds to decode one document. The document is compressed with a dictionary of 16 KB.
  /// When it is decoded, the dictionary is in memory directly before the output, because this is LZ4's
  /// fastest mode. The time includes no lookup and no read.
  static func decodeNanoseconds() throws -> Double {
    let dictionary = (0..<60).flatMap { PackedRecord.bytes(SampleDocument($0)) }.suffix(16 << 10)
    let records = (1000..<3000).map { PackedRecord.bytes(SampleDocument($0)) }
    guard let stream = LZ4_createStream() else { throw BenchmarkFailure("LZ4 made no stream") }
    defer { LZ4_freeStream(stream) }
    let compressed = records.map { record -> [UInt8] in
      var output = [UInt8](repeating: 0, count: Int(LZ4_compressBound(Int32(record.count))))
      let count = Array(dictionary).withUnsafeBytes { dictionary in
        record.withUnsafeBytes { record in
          output.withUnsafeMutableBytes { output in
            LZ4_loadDict(stream, dictionary.characters, Int32(dictionary.count))
            return LZ4_compress_fast_continue(
              stream, record.characters, UnsafeRawBufferPointer(output).mutableCharacters,
              Int32(record.count),
              Int32(output.count), 1)
          }
        }
      }
      return Array(output.prefix(Int(count)))
    }
    var room = Array(dictionary) + [UInt8](repeating: 0, count: 4096)
    let passes = 20
    var decoded = 0
    let time = room.withUnsafeMutableBytes { room -> Duration in
      let bytes = UnsafeRawBufferPointer(room)
      let output = bytes.mutableCharacters?.advanced(by: dictionary.count)
      return ContinuousClock().measure {
        for _ in 0..<passes {
          for entry in compressed {
            entry.withUnsafeBytes {
              decoded += Int(
                LZ4_decompress_safe_usingDict(
                  $0.characters, output, Int32($0.count), 4096, bytes.characters, Int32(dictionary.count)))
            }
          }
        }
      }
    }
    guard decoded == passes * records.reduce(0, { $0 + $1.count }) else {
      throw BenchmarkFailure("LZ4 did not decode its own compressed data")
    }
    return time / .nanoseconds(1) / Double(passes * records.count)
  }

  /// Returns the bytes per second of a copy that is larger than all processor caches.
  static func copiedBytesPerSecond() -> Double {
    let count = 256 << 20
    let source = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 4096)
    let target = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 4096)
    defer {
      source.deallocate()
      target.deallocate()
    }
    memset(source, 1, count)
    memset(target, 2, count)
    let time = ContinuousClock().measure { memcpy(target, source, count) }
    return Double(count) / (time / .seconds(1))
  }
}

/// Only writes and syncs. The result is the device's limit for commits.
struct DeviceWrites: Engine {
  var count: Int
  var byteCount = 4096
  var threads = 1
  /// The metric and its value per write, for workloads that do not count commits.
  var counted: (metric: String, perWrite: Double)?
  let name = Limits.device

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    let count = max(threads, min(count, context.options.documents)) / threads * threads
    let results = try Limits.syncedWrites(of: byteCount, count, threads: threads, in: directory)
    guard let counted else { return results }
    return [counted.metric: (results["commits_per_s"] ?? 0) * counted.perWrite]
  }
}

/// Copies memory that is in no processor cache. The result is the limit for reads.
struct CopyRate: Engine {
  let name = Limits.memory

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    ["mb_per_s": Limits.copiedBytesPerSecond() / 1e6]
  }
}

/// Only decodes documents. The result is LZ4's limit for gets or scans.
struct DecodeLimit: Engine {
  var isRate: Bool
  let name = Limits.lz4

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    let nanoseconds = try Limits.decodeNanoseconds()
    return isRate ? ["docs_per_s": 1e9 / nanoseconds] : ["get_ns": nanoseconds]
  }
}

/// Copies documents of 350 bytes. The result is the memory's limit for scans.
struct CopyLimit: Engine {
  let name = Limits.memory

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    ["docs_per_s": Limits.copiedBytesPerSecond() / 350]
  }
}

extension UnsafeRawBufferPointer {
  fileprivate var mutableCharacters: UnsafeMutablePointer<CChar>? {
    characters.map { UnsafeMutablePointer(mutating: $0) }
  }
}
