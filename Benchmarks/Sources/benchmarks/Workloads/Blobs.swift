// W15: durable contents, compared with synced plain files and with SQLite rows.
//
//   W15   100 KB each, from one thread
//   W15b  100 KB each, from eight threads
//   W15c  10 MB each, from one thread
//   W15d  100 KB each, read from the system's page cache
//
// All contents differ and are incompressible. They are prepared before the timed part, then read back
// and compared. The device limit is the time to overwrite an existing file with as many bytes and sync
// it.

import BenchmarkReports
import Foundation

enum SmallBlobs: Workload {
  static let name = "W15"
  static let title = "contents of 100 KB, one after the other"
  static let goals = [
    Goal.ratio("durable contents of 100 KB, one writer", "mb_per_s", 0.85).summarized(as: "file of 100 KB")
  ]
  static let engines = blobEngines(
    BlobRound(bytes: 100_000, countMax: 1000, threads: 1, measuresReads: false))
}

enum SmallBlobsOfEight: Workload {
  static let name = "W15b"
  static let title = "contents of 100 KB from eight threads"
  static let goals = [
    Goal.ratio("durable contents of 100 KB, eight writers", "mb_per_s", 0.35).summarized(
      as: "file, eight writers")
  ]
  static let engines = blobEngines(
    BlobRound(bytes: 100_000, countMax: 2000, threads: 8, measuresReads: false))
}

enum LargeBlobs: Workload {
  static let name = "W15c"
  static let title = "contents of 10 MB"
  static let goals = [
    Goal.ratio("durable contents of 10 MB, one writer", "mb_per_s", 0.95).summarized(as: "file of 10 MB")
  ]
  static let engines = blobEngines(
    BlobRound(bytes: 10_000_000, countMax: 30, threads: 1, measuresReads: false))
}

enum BlobReads: Workload {
  static let name = "W15d"
  static let title = "contents of 100 KB, read while the system has them"
  static let goals = [
    Goal.ratio("cached reads of contents of 100 KB", "mb_per_s", 0.7).summarized(as: "read of a file")
  ]
  static let engines = blobEngines(BlobRound(bytes: 100_000, countMax: 1000, threads: 1, measuresReads: true))
}

private func blobEngines(_ round: BlobRound) -> [any Engine] {
  let limit: any Engine =
    round.measuresReads
    ? CopyRate()
    : DeviceWrites(
      count: round.countMax, byteCount: round.bytes, threads: round.threads,
      counted: ("mb_per_s", Double(round.bytes) / 1e6))
  let types: [any BlobEngine.Type] = [DugoutBlobs.self] + BlobEngines.peers
  return types.map { BlobRoundOfEngine(round: round, type: $0) } + [limit]
}

private struct BlobRound {
  var bytes: Int
  var countMax: Int
  var threads: Int
  var measuresReads: Bool
}

private struct BlobRoundOfEngine: Engine {
  var round: BlobRound
  var type: any BlobEngine.Type

  var name: String { type.name }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    // A run with few documents is a smoke test, which writes a tenth of the contents.
    let countMax = context.options.documents < 10_000 ? round.countMax / 10 : round.countMax
    let count = max(round.threads, min(countMax, context.options.documents))
    let blobs = try type.init(directory)
    let noise = Self.noise(round.bytes)
    let contents = (0..<count).map { Self.content(noise, $0) }
    let writing = try measured {
      _ = try CommitTimes.measure(count, threads: round.threads) { index in
        try blobs.put(contents[index], "\(index)")
      }
    }
    try blobs.checkpoint()
    var reading = try measured {
      for index in 0..<count where try blobs.content("\(index)") != contents[index] {
        throw BenchmarkFailure("\(name) does not hold the written data")
      }
    }
    if round.measuresReads {
      reading = try measured {
        for index in 0..<count where try blobs.content("\(index)")?.count != round.bytes {
          throw BenchmarkFailure("\(name) does not hold the written data")
        }
      }
    }
    try blobs.close()
    let megabytes = Double(count * round.bytes) / 1e6
    return ["mb_per_s": megabytes / (round.measuresReads ? reading : writing)]
  }

  private func measured(_ body: () throws -> Void) throws -> Double {
    let start = DispatchTime.now().uptimeNanoseconds
    try body()
    return Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
  }

  private static func noise(_ count: Int) -> [UInt8] {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    return (0..<count).map { _ in
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return UInt8(truncatingIfNeeded: state)
    }
  }

  /// Returns content that is cheap to create and differs for each index.
  private static func content(_ noise: [UInt8], _ index: Int) -> [UInt8] {
    var bytes = noise
    withUnsafeBytes(of: UInt64(index)) { bytes.replaceSubrange(0..<8, with: $0) }
    return bytes
  }
}
