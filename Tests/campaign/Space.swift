// Measures the costs of different write loads on real files.
//
// The costs are write amplification, space amplification, and the latency of commits during flushes and
// compactions.

import ByteStore
import Foundation
import Harness

enum Space: Campaign {
  static let name = "space"
  static let summary = "measures write amplification, space and the longest commit of seven kinds of load"
  static let amount = (option: "--operations", standard: Optional(200_000))

  enum Load: String, CaseIterable {
    case uniformOverwrites
    /// Nine in ten writes go to a tenth of the keys.
    case skewedOverwrites
    case insertOnly
    case deleteHalf
    /// Values of a few bytes.
    case tinyValues
    /// Batches of a mebibyte from eight concurrent threads.
    case largeBatches
    /// Reopens a store that has as many keys as the load has operations, and commits during the first flush
    /// after the open.
    case reopened

    /// The maximum number of entries in a batch.
    var entriesMax: Int { self == .tinyValues ? 200 : 20 }

    var hasTinyValues: Bool { self == .tinyValues || self == .reopened }
  }

  /// The size of the loads. Without a number of operations, it is the size of a production store with 2 GB of
  /// values. At that size, only two loads run.
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

    /// The number of keys. Each key is written twenty times on average.
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
    for load in options.amount == nil ? [.uniformOverwrites, .reopened] : Load.allCases {
      var run = LoadRun(load, scale, seed: options.seed, in: folder)
      let row = try run.measure()
      result.run += 1
      table.append(row.cells)
      result.details += row.details
      guard let broken = row.exceededLimit else { continue }
      result.failed += 1
      result.firstFailure = result.firstFailure ?? "\(load.rawValue): \(broken)"
    }
    options.printUnlessJSON(TextTable.text(table))
    return result
  }

  // MARK: One load

  private struct LoadRun {
    private static let threads = 8
    private static let largeValues = 4
    private static let largeValueBytes = 256 << 10

    private let load: Load
    private let scale: Scale
    private let path: String
    private let folder: URL
    private let watched = WatchedFileSystem(PosixFileSystem())
    private var random: SeededRandom
    private var frames: UInt64 = 0
    private var commits = 0
    private var longest = Duration.zero
    private var longestWithoutSyncs = Duration.zero
    private var peak: UInt64 = 0
    private var peakLogBytes: UInt64 = 0

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
      var store = try ByteStore.open(path, options: scale.options, platform: platform)
      if load == .reopened {
        try fillInLargeBatches(store)
        try store.close()
        store = try ByteStore.open(path, options: scale.options, platform: platform)
      }
      let probe = DeviceProbe(in: folder)
      switch load {
      case .largeBatches: try fillFromThreads(store)
      case .reopened: try commitDuringFlush(store)
      default: try fill(store)
      }
      let (longestSync, average) = probe.end()
      try store.flush()
      let bytes = DirectoryMeasures.bytes(of: path)
      let live = store.statistics.segments.liveBytes
      try store.close()
      return Row(
        load: load, options: scale.options, commits: commits, frames: frames,
        written: watched.counters.totalBytesWritten,
        live: live, finalBytes: bytes, peak: peak, peakLogBytes: peakLogBytes, longest: longest,
        longestWithoutSyncs: longestWithoutSyncs, longestSync: longestSync, average: average)
    }

    private mutating func fill(_ store: ByteStore) throws {
      switch load {
      case .insertOnly:
        for number in 0..<scale.operations { try note(number, store) }
      case .uniformOverwrites, .tinyValues:
        for _ in 0..<scale.operations { try note(random.below(scale.keys), store) }
      case .skewedOverwrites:
        for _ in 0..<scale.operations {
          try note(random.below(random.oneIn(10) ? scale.keys : scale.keys / 10), store)
        }
      case .deleteHalf:
        for number in 0..<scale.operations { try note(number, store) }
        for number in 0..<scale.operations where random.oneIn(2) { try note(number, store, removes: true) }
      case .largeBatches, .reopened: break
      }
      try commit(to: store)
    }

    /// Not measured.
    private mutating func fillInLargeBatches(_ store: ByteStore) throws {
      for first in stride(from: 0, to: scale.operations, by: 2000) {
        var batch = Batch()
        for number in first..<min(first + 2000, scale.operations) {
          let key = Self.key(number)
          let value = randomValue()
          try batch.put(value, for: key)
          entries.append((key.count, value.count))
        }
        frames += SpaceLimits.frameBytes(entries)
        entries = []
        try store.commit(batch)
      }
      try store.flush()
    }

    /// Commits first, so that the flush has work, and then commits until the flush is done.
    private mutating func commitDuringFlush(_ store: ByteStore) throws {
      func overwrite() throws {
        for _ in 0..<load.entriesMax { try note(random.below(scale.operations), store) }
      }
      try overwrite()
      let outcome = Locked<Result<Void, ByteStoreError>?>(nil)
      let flush = WorkerThread {
        let result = Result { () throws(ByteStoreError) in try store.flush() }
        outcome.withLock { $0 = result }
      }
      defer { flush.join() }
      while outcome.withLock({ $0 == nil }) { try overwrite() }
      try outcome.withLock { $0 }?.get()
    }

    private static func key(_ number: Int) -> [UInt8] { Array("collection/document-\(number)".utf8) }

    /// Returns an incompressible value, which is the worst case.
    private mutating func randomValue() -> [UInt8] {
      random.bytes(
        load.hasTinyValues ? 1 + random.below(16) : scale.valueBytes / 2 + random.below(scale.valueBytes))
    }

    /// Commits batches from several threads. There is one batch for every thousand operations of the other
    /// loads.
    private mutating func fillFromThreads(_ store: ByteStore) throws {
      struct Outcome {
        var frames: UInt64 = 0
        var commits = 0
        var longest = Duration.zero
        var peak: UInt64 = 0
        var peakLogBytes: UInt64 = 0
        var failure: (any Error)?
      }
      let outcome = Locked(Outcome())
      let (path, seed) = (path, random.next())
      let batches = max(1, scale.operations / 1000 / Self.threads)
      let threads = (0..<Self.threads).map { thread in
        WorkerThread {
          var random = SeededRandom(seed: SeededRandom.seed(seed, UInt64(thread)))
          do {
            for _ in 0..<batches {
              var batch = Batch()
              var entries: [(key: Int, value: Int?)] = []
              for _ in 0..<Self.largeValues {
                let key = Array("thread-\(thread)/large-\(random.below(16))".utf8)
                try batch.put(random.bytes(Self.largeValueBytes), for: key)
                entries.append((key.count, Self.largeValueBytes))
              }
              let took = try ContinuousClock().measure { try store.commit(batch) }
              let frame = SpaceLimits.frameBytes(entries)
              let peaks = (
                DirectoryMeasures.bytes(of: path), DirectoryMeasures.bytes(of: path, named: "log-")
              )
              outcome.withLock { outcome in
                outcome.frames += frame
                outcome.commits += 1
                outcome.longest = max(outcome.longest, took)
                outcome.peak = max(outcome.peak, peaks.0)
                outcome.peakLogBytes = max(outcome.peakLogBytes, peaks.1)
              }
            }
          } catch {
            outcome.withLock { $0.failure = error }
          }
        }
      }
      for thread in threads { thread.join() }
      let sum = outcome.withLock { $0 }
      if let failure = sum.failure { throw failure }
      frames = sum.frames
      commits = sum.commits
      longest = sum.longest
      peak = sum.peak
      peakLogBytes = sum.peakLogBytes
    }

    static var bytesInFlight: UInt64 { UInt64(threads * largeValues * largeValueBytes) }

    private var batch = Batch()
    private var entries: [(key: Int, value: Int?)] = []

    private mutating func note(_ number: Int, _ store: ByteStore, removes: Bool = false) throws {
      let key = Self.key(number)
      if removes {
        try batch.remove(key)
        entries.append((key.count, nil))
      } else {
        let value = randomValue()
        try batch.put(value, for: key)
        entries.append((key.count, value.count))
      }
      if entries.count == load.entriesMax { try commit(to: store) }
    }

    private mutating func commit(to store: ByteStore) throws {
      guard !entries.isEmpty else { return }
      frames += SpaceLimits.frameBytes(entries)
      let before = watched.timeInSyncsOfThisThread
      let took = try ContinuousClock().measure { try store.commit(batch) }
      longest = max(longest, took)
      longestWithoutSyncs = max(longestWithoutSyncs, took - (watched.timeInSyncsOfThisThread - before))
      batch = Batch()
      entries = []
      commits += 1
      guard commits % 100 == 0 else { return }
      peak = max(peak, DirectoryMeasures.bytes(of: path))
      peakLogBytes = max(peakLogBytes, DirectoryMeasures.bytes(of: path, named: "log-"))
    }
  }

  // MARK: Reporting

  private struct Row {
    static let titles = [
      "load", "commits", "logged MiB", "written MiB", "written/logged", "live MiB", "directory MiB", "space",
      "peak MiB", "of logs", "longest ms", "of that no sync", "sync ms: longest", "average",
    ]

    var load: Load
    var options: ByteStore.Options
    var commits: Int
    var frames: UInt64
    var written: UInt64
    var live: UInt64
    var finalBytes: UInt64
    var peak: UInt64
    var peakLogBytes: UInt64
    var longest: Duration
    /// The longest time of a commit, not counting the syncs of the commit's own thread. Measured only for
    /// loads with one thread.
    var longestWithoutSyncs: Duration
    var longestSync: Duration
    var average: Duration

    private var amplification: Double { Double(written) / Double(max(1, frames)) }

    var cells: [String] {
      [
        load.rawValue, "\(commits)", frames.inMebibytes, written.inMebibytes, amplification.withTwoDigits,
        live.inMebibytes, finalBytes.inMebibytes, (Double(finalBytes) / Double(max(1, live))).withTwoDigits,
        peak.inMebibytes, peakLogBytes.inMebibytes, "\(longest.milliseconds)",
        load == .largeBatches ? "" : "\(longestWithoutSyncs.milliseconds)", "\(longestSync.milliseconds)",
        (average / .milliseconds(1)).withTwoDigits,
      ]
    }

    var details: [(name: String, value: Int)] {
      [
        ("\(load.rawValue).writtenPer100Logged", Int(100 * amplification)),
        ("\(load.rawValue).liveBytes", Int(live)), ("\(load.rawValue).directoryBytes", Int(finalBytes)),
        ("\(load.rawValue).peakBytes", Int(peak)), ("\(load.rawValue).peakOfLogsBytes", Int(peakLogBytes)),
        ("\(load.rawValue).longestCommitMs", longest.milliseconds),
        ("\(load.rawValue).longestCommitWithoutSyncsMs", longestWithoutSyncs.milliseconds),
        ("\(load.rawValue).longestSyncMs", longestSync.milliseconds),
      ]
    }

    var exceededLimit: String? {
      // This load has only a few commits but writes a whole checkpoint, so the write amplification is
      // meaningless.
      if load == .reopened { return exceededCommitLimit }
      if amplification > SpaceLimits.writeAmplificationMax {
        return "\(amplification.withTwoDigits) bytes written for each"
      }
      let inFlight = load == .largeBatches ? LoadRun.bytesInFlight : 0
      let most = SpaceLimits.directoryBytesMax(live: live, inFlight: inFlight, options)
      // `deleteHalf` is exempt, because before its deletions more data is live than at the end.
      if load != .deleteHalf, peak > most { return "\(peak) bytes on disk, and \(most) may be" }
      let logLimit = SpaceLimits.logBytesMax(inFlight: inFlight, options)
      if peakLogBytes > logLimit { return "\(peakLogBytes) bytes of logs, and \(logLimit) may be" }
      let atRestLimit = SpaceLimits.directoryBytesAtRestMax(live: live, inFlight: inFlight, options)
      if finalBytes > atRestLimit { return "\(finalBytes) bytes after a flush, and \(atRestLimit) may be" }
      return load == .largeBatches ? nil : exceededCommitLimit
    }

    /// The limit that a commit exceeded; nil if none did. The limits are for small commits only, because a
    /// large commit takes time proportional to its bytes.
    private var exceededCommitLimit: String? {
      let allowed = SpaceLimits.commitMillisecondsMax(longestSync: longestSync, average: average)
      if longest.milliseconds > allowed { return "a commit took \(longest.milliseconds) ms of \(allowed)" }
      let without = SpaceLimits.commitMillisecondsWithoutSyncsMax(longestSync: longestSync, average: average)
      guard longestWithoutSyncs.milliseconds > without else { return nil }
      return "a commit took \(longestWithoutSyncs.milliseconds) ms of \(without) beside its own syncs"
    }
  }
}
