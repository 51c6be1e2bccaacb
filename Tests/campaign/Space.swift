// What stores cost that are written to in different ways: bytes written for each byte logged, space for each
// byte alive, and how long a commit waits while flushes and compactions run beside it. On real files.

import ByteStore
import Foundation
import Harness

enum Space: Campaign {
  static let name = "space"
  static let summary = "measures write amplification, space and the longest commit of four kinds of load"
  static let amount = (option: "--operations", standard: Optional(200_000))

  enum Load: String, CaseIterable {
    case uniformOverwrites
    /// Nine of ten go to a tenth of the keys.
    case skewedOverwrites
    case insertOnly
    case deleteHalf
  }

  /// Without a number of operations, at the sizes of a store in use, with 2 GB of values; that takes long enough
  /// for one load.
  private struct Scale {
    var operations: Int
    var valueBytes: Int
    var options = ByteStore.Options()

    init(_ operations: Int?) {
      guard let operations else {
        self.operations = 2_000_000
        valueBytes = 1000
        return
      }
      self.operations = operations
      valueBytes = 500
      options.logBytesMax = 1 << 20
      options.flushBytes = 4 << 20
      options.segmentBytesMax = 4 << 20
      options.cacheBytesMax = 8 << 20
    }

    /// Each is written twenty times.
    var keys: Int { max(100, operations / 20) }
  }

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let scale = Scale(options.amount)
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-space-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var result = CampaignResult(run: 0, failed: 0)
    var table = [Row.titles]
    for load in options.amount == nil ? [.uniformOverwrites] : Load.allCases {
      var run = LoadRun(load, scale, seed: options.seed, in: folder)
      let row = try run.measure()
      result.run += 1
      table.append(row.cells)
      result.details += row.details
      guard let broken = row.lawBroken else { continue }
      result.failed += 1
      result.firstFailure = result.firstFailure ?? "\(load.rawValue): \(broken)"
    }
    if !options.wantsJSON { say(TextTable.text(table)) }
    return result
  }

  // MARK: One load

  private struct LoadRun {
    private static let batchMax = 20

    private let load: Load
    private let scale: Scale
    private let path: String
    private let folder: URL
    private let watched = WatchedFileSystem(PosixFileSystem())
    private var random: SeededRandom
    private var frames: UInt64 = 0
    private var commits = 0
    private var longest = Duration.zero
    private var peak: UInt64 = 0

    init(_ load: Load, _ scale: Scale, seed: UInt64, in folder: URL) {
      self.load = load
      self.scale = scale
      self.folder = folder
      path = folder.appendingPathComponent(load.rawValue).path
      random = SeededRandom(seed: seed)
    }

    mutating func measure() throws -> Row {
      defer { try? FileManager.default.removeItem(atPath: path) }
      var platform = Platform.real
      platform.fileSystem = watched
      let probe = DeviceProbe(in: folder)
      let store = try ByteStore.open(path, options: scale.options, platform: platform)
      try fill(store)
      let (device, average) = probe.end()
      try store.flush()
      let bytes = DirectoryMeasures.bytes(of: path)
      try store.close()
      return Row(
        load: load, options: scale.options, commits: commits, frames: frames,
        written: watched.counters.bytesWrittenInAll,
        live: try DirectoryMeasures.liveBytes(of: path, scale.options),
        atTheEnd: bytes, peak: peak, longest: longest, device: device, average: average)
    }

    private mutating func fill(_ store: ByteStore) throws {
      switch load {
      case .insertOnly:
        for number in 0..<scale.operations { try note(number, store) }
      case .uniformOverwrites:
        for _ in 0..<scale.operations { try note(random.below(scale.keys), store) }
      case .skewedOverwrites:
        for _ in 0..<scale.operations {
          try note(random.below(random.oneIn(10) ? scale.keys : scale.keys / 10), store)
        }
      case .deleteHalf:
        for number in 0..<scale.operations { try note(number, store) }
        for number in 0..<scale.operations where random.oneIn(2) { try note(number, store, removes: true) }
      }
      try commit(to: store)
    }

    private var batch = Batch()
    private var entries: [(key: Int, value: Int?)] = []

    private mutating func note(_ number: Int, _ store: ByteStore, removes: Bool = false) throws {
      let key = Array("collection/document-\(number)".utf8)
      if removes {
        try batch.remove(key)
        entries.append((key.count, nil))
      } else {
        // Nothing that compresses: the worst case.
        let value = random.bytes(scale.valueBytes / 2 + random.below(scale.valueBytes))
        try batch.put(value, for: key)
        entries.append((key.count, value.count))
      }
      if entries.count == Self.batchMax { try commit(to: store) }
    }

    private mutating func commit(to store: ByteStore) throws {
      guard !entries.isEmpty else { return }
      frames += SpaceLaw.frameBytes(entries)
      longest = max(longest, try ContinuousClock().measure { try store.commit(batch) })
      batch = Batch()
      entries = []
      commits += 1
      if commits % 100 == 0 { peak = max(peak, DirectoryMeasures.bytes(of: path)) }
    }
  }

  // MARK: What is told

  private struct Row {
    static let titles = [
      "load", "commits", "logged MiB", "written MiB", "written/logged", "live MiB", "directory MiB", "space",
      "peak MiB", "longest ms", "sync ms: longest", "average",
    ]

    var load: Load
    var options: ByteStore.Options
    var commits: Int
    var frames: UInt64
    var written: UInt64
    var live: UInt64
    var atTheEnd: UInt64
    var peak: UInt64
    var longest: Duration
    var device: Duration
    var average: Duration

    private var amplification: Double { Double(written) / Double(max(1, frames)) }

    var cells: [String] {
      [
        load.rawValue, "\(commits)", frames.inMebibytes, written.inMebibytes, amplification.withTwoDigits,
        live.inMebibytes, atTheEnd.inMebibytes, (Double(atTheEnd) / Double(max(1, live))).withTwoDigits,
        peak.inMebibytes, "\(longest.milliseconds)", "\(device.milliseconds)",
        (average / .milliseconds(1)).withTwoDigits,
      ]
    }

    var details: [(name: String, value: Int)] {
      [
        ("\(load.rawValue).writtenPer100Logged", Int(100 * amplification)),
        ("\(load.rawValue).liveBytes", Int(live)), ("\(load.rawValue).directoryBytes", Int(atTheEnd)),
        ("\(load.rawValue).peakBytes", Int(peak)), ("\(load.rawValue).longestCommitMs", longest.milliseconds),
        ("\(load.rawValue).longestSyncMs", device.milliseconds),
      ]
    }

    var lawBroken: String? {
      if amplification > SpaceLaw.writeAmplificationMax {
        return "\(amplification.withTwoDigits) bytes written for each"
      }
      let most = SpaceLaw.directoryBytesMax(live: live, options)
      // While half is still to be deleted, more is alive than at the end.
      if load != .deleteHalf, peak > most { return "\(peak) bytes on disk, and \(most) may be" }
      let mostAtRest = SpaceLaw.directoryBytesAtRestMax(live: live, options)
      if atTheEnd > mostAtRest { return "\(atTheEnd) bytes after a flush, and \(mostAtRest) may be" }
      let allowed = SpaceLaw.commitMillisecondsMax(longestSync: device, average: average)
      return longest.milliseconds > allowed ? "a commit took \(longest.milliseconds) ms of \(allowed)" : nil
    }
  }
}
