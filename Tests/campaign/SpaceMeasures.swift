// What a store may cost, and what it does cost.

import ByteStore
import Foundation

/// docs/reliability.md, section "Numbers": the laws that `soak` and `space` check.
enum SpaceLaw {
  static let writeAmplificationMax = 10.0
  /// Beyond what the device itself takes at its slowest.
  static let commitMillisecondsMax = 50
  /// A commit that turns to a new log waits for so many syncs: of the old log, the new one, the manifest, and
  /// twice of the directory; and for the group before it.
  static let syncsOfCommitMax = 6

  /// One of those syncs may be the device's longest, the others are like most.
  static func syncMillisecondsOfCommitMax(longestSync: Duration, average: Duration) -> Int {
    let others: Duration = average * (syncsOfCommitMax - 1)
    return longestSync.milliseconds + others.milliseconds
  }

  static func commitMillisecondsMax(longestSync: Duration, average: Duration) -> Int {
    syncMillisecondsOfCommitMax(longestSync: longestSync, average: average) + commitMillisecondsMax
  }

  /// Of those, others may be asked for by the flush that a commit waits for.
  static let syncsOfOthersMax = 3

  /// For a commit without its own syncs.
  static func commitMillisecondsWithoutSyncsMax(longestSync: Duration, average: Duration) -> Int {
    let others: Duration = average * (syncsOfOthersMax - 1)
    return longestSync.milliseconds + others.milliseconds + commitMillisecondsMax
  }

  private static let spaceMax = 2.2
  private static let spaceExtraMax: UInt64 = 256 << 20

  /// What the directory may take. Live bytes are those of the entries in segments that are still the value of a
  /// key, after everything was flushed. Beside them stand at most half as much that is dead, the dead bytes that are
  /// not worth a rewrite, the checkpoint, logs with what is in flight, spares, and what a flush is writing before it
  /// deletes.
  static func directoryBytesMax(
    live: UInt64, inFlight: UInt64 = 0, _ options: ByteStore.Options
  ) -> UInt64 {
    let extra = 16 << 20 + 4 * options.flushBytes + 4 * options.logBytesMax + 4 * inFlight
    return UInt64(spaceMax * Double(live)) + min(extra, spaceExtraMax)
  }

  /// What all logs may take while commits come faster than flushes are: four times what starts one, the commits in
  /// flight, which fill a log of their own as well, and the log in use with the one before.
  static func logBytesMax(inFlight: UInt64, _ options: ByteStore.Options) -> UInt64 {
    4 * options.flushBytes + 2 * inFlight + 2 * options.logBytesMax
  }

  /// After a flush, while nothing else goes on: what is dead, a log and a spare.
  static func directoryBytesAtRestMax(
    live: UInt64, inFlight: UInt64 = 0, _ options: ByteStore.Options
  ) -> UInt64 {
    UInt64(1.5 * Double(live)) + 16 << 20 + 2 * options.logBytesMax + 2 * inFlight
  }

  /// The bytes of a commit's frame, of which nothing can be saved.
  static func frameBytes(_ entries: some Sequence<(key: Int, value: Int?)>) -> UInt64 {
    let body = entries.reduce(12) { $0 + ($1.value.map { 7 + $0 } ?? 3) + $1.key }
    return UInt64((32 + body).roundedUp(toMultipleOf: 64))
  }
}

enum DirectoryMeasures {
  /// Of all files, or of those whose names begin with `prefix`.
  static func bytes(of path: String, named prefix: String = "") -> UInt64 {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return names.reduce(0) { sum, name in
      var status = stat()
      // One that is gone by now takes nothing.
      return name.hasPrefix(prefix) && stat("\(path)/\(name)", &status) == 0
        ? sum + UInt64(status.st_size) : sum
    }
  }
}

/// Rows and columns for the eye.
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
