// The limits for a store's costs, and their measurement.

import ByteStore
import Foundation

/// The laws that `soak` and `space` check; see docs/reliability.md, section "Numbers".
enum SpaceLimits {
  static let writeAmplificationMax = 10.0
  /// The maximum time of a commit in addition to the time of the syncs that it waits for.
  static let commitMillisecondsMax = 50
  /// The number of syncs that a commit waits for if it rotates the log: one each of the old log, the new
  /// log, the manifest and the previous group, and two of the directory.
  static let commitSyncsMax = 6

  /// Returns the maximum time that a commit waits for syncs. One of these syncs may take as long as the
  /// device's longest sync; the others take the average.
  static func commitSyncMillisecondsMax(longestSync: Duration, average: Duration) -> Int {
    let others: Duration = average * (commitSyncsMax - 1)
    return longestSync.milliseconds + others.milliseconds
  }

  static func commitMillisecondsMax(longestSync: Duration, average: Duration) -> Int {
    commitSyncMillisecondsMax(longestSync: longestSync, average: average) + commitMillisecondsMax
  }

  /// The number of syncs that a flush requests and that a commit may have to wait for.
  static let flushSyncsMax = 3

  /// Returns the maximum time of a commit, not counting the commit's own syncs.
  static func commitMillisecondsWithoutSyncsMax(longestSync: Duration, average: Duration) -> Int {
    let others: Duration = average * (flushSyncsMax - 1)
    return longestSync.milliseconds + others.milliseconds + commitMillisecondsMax
  }

  private static let spaceMax = 2.2
  private static let spaceExtraMax: UInt64 = 256 << 20

  /// Returns the maximum size of the directory. Live bytes are the bytes of the segment entries that are
  /// current values after a complete flush. Dead bytes are at most half as many as live bytes, plus dead
  /// bytes that are not worth a rewrite. The remaining bytes are the checkpoint, the logs including commits
  /// in progress, spare files, and the output of a flush that has not yet deleted its input.
  static func directoryBytesMax(
    live: UInt64, inFlight: UInt64 = 0, _ options: ByteStore.Options
  ) -> UInt64 {
    let extra = 16 << 20 + 4 * options.flushBytes + 4 * options.logBytesMax + 4 * inFlight
    return UInt64(spaceMax * Double(live)) + min(extra, spaceExtraMax)
  }

  /// Returns the maximum size of all logs while commits are faster than flushes. The size allows for four
  /// times the flush threshold, and for the current and the previous log. It counts the commits in progress
  /// twice, because these commits also fill a log of their own.
  static func logBytesMax(inFlight: UInt64, _ options: ByteStore.Options) -> UInt64 {
    4 * options.flushBytes + 2 * inFlight + 2 * options.logBytesMax
  }

  /// Returns the maximum size of the directory after a flush without concurrent work. In addition to live
  /// bytes, the directory then contains dead bytes, a log and a spare file.
  static func directoryBytesAtRestMax(
    live: UInt64, inFlight: UInt64 = 0, _ options: ByteStore.Options
  ) -> UInt64 {
    UInt64(1.5 * Double(live)) + 16 << 20 + 2 * options.logBytesMax + 2 * inFlight
  }

  /// Returns the size of a commit's frame without compression.
  static func frameBytes(_ entries: some Sequence<(key: Int, value: Int?)>) -> UInt64 {
    let body = entries.reduce(12) { $0 + ($1.value.map { 7 + $0 } ?? 3) + $1.key }
    return UInt64((32 + body).roundedUp(toMultipleOf: 64))
  }
}

enum DirectoryMeasures {
  /// Returns the total size of the files whose names begin with `prefix`; of all files if `prefix` is empty.
  static func bytes(of path: String, named prefix: String = "") -> UInt64 {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return names.reduce(0) { sum, name in
      var status = stat()
      // A file that was deleted meanwhile counts as empty.
      return name.hasPrefix(prefix) && stat("\(path)/\(name)", &status) == 0
        ? sum + UInt64(status.st_size) : sum
    }
  }
}

/// Formats a table as text.
enum TextTable {
  static func text(_ rows: [[String]]) -> String {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in
      rows.compactMap { column < $0.count ? $0[column].count : nil }.max() ?? 0
    }
    return rows.map { row in
      row.enumerated().map { column, cell in
        let padding = String(repeating: " ", count: widths[column] - cell.count)
        return column == 0 ? cell + padding : padding + cell
      }
      .joined(separator: "  ")
    }
    .joined(separator: "\n")
  }
}

extension BinaryInteger {
  var inMebibytes: String { "\((Double(self) / 1_048_576 * 10).rounded() / 10)" }
}

extension Double {
  var withTwoDigits: String { "\((self * 100).rounded() / 100)" }
}
