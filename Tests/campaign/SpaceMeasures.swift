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
  static func commitMillisecondsMax(longestSync: Duration, average: Duration) -> Int {
    let others: Duration = average * (syncsOfCommitMax - 1)
    return longestSync.milliseconds + others.milliseconds + commitMillisecondsMax
  }
  private static let spaceMax = 2.2
  private static let spaceExtraMax: UInt64 = 256 << 20

  /// What the directory may take. Live bytes are those of the store's files after everything was flushed and
  /// compacted: what the same contents take at least. Beside them stand at most half as much that is dead, the
  /// dead bytes that are not worth a rewrite, logs, spares, and what a flush is writing before it deletes.
  static func directoryBytesMax(live: UInt64, _ options: ByteStore.Options) -> UInt64 {
    let extra = 16 << 20 + 4 * options.flushBytes + 4 * options.logBytesMax
    return UInt64(spaceMax * Double(live)) + min(extra, spaceExtraMax)
  }

  /// After a flush, while nothing else goes on: what is dead, a log and a spare.
  static func directoryBytesAtRestMax(live: UInt64, _ options: ByteStore.Options) -> UInt64 {
    UInt64(1.5 * Double(live)) + 16 << 20 + 2 * options.logBytesMax
  }

  /// The bytes of a commit's frame, of which nothing can be saved.
  static func frameBytes(_ entries: some Sequence<(key: Int, value: Int?)>) -> UInt64 {
    let body = entries.reduce(12) { $0 + ($1.value.map { 7 + $0 } ?? 3) + $1.key }
    return UInt64((32 + body).roundedUp(toMultipleOf: 64))
  }
}

enum DirectoryMeasures {
  static func bytes(of path: String) -> UInt64 {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return names.reduce(0) { sum, name in
      var status = stat()
      // One that is gone by now takes nothing.
      return stat("\(path)/\(name)", &status) == 0 ? sum + UInt64(status.st_size) : sum
    }
  }

  /// Of a copy that is compacted as far as it goes; the store itself must be closed.
  static func liveBytes(of path: String, _ options: ByteStore.Options) throws -> UInt64 {
    let copy = path + "-copy"
    defer { try? FileManager.default.removeItem(atPath: copy) }
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    var options = options
    options.maintenance = .manual
    let store = try ByteStore.open(copy, options: options)
    try store.flush(.everything)
    store.abandon()
    // What an open would throw away is no part of it.
    try ByteStore.open(copy, options: options).abandon()
    return bytes(of: copy)
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
