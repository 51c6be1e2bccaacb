// Runs a load for hours on real files, and verifies the result (docs/reliability.md, G9).
//
//   1. load       several threads, with maintenance, flushes and compactions in the background, for some
//                 seconds
//   2. end        a clean close, or a separate process runs the load and is killed
//   3. compare    every key of every writer with its acknowledged commits
//   4. measure    memory, descriptors, space, bytes written, the longest commit
//
// This repeats until the time is over. Memory and descriptors of the last third of the rounds are
// compared with those of the first third.

import ByteStore
import Foundation
import Harness
import StoreTools

enum Soak: Campaign {
  static let name = "soak"
  static let summary = "loads a store from several threads, closes and kills, and watches its resources"
  static let amount = (option: "--minutes", standard: Optional(1))

  /// Small limits, so that a minute has many flushes and compactions.
  static var options: ByteStore.Options {
    var options = ByteStore.Options()
    options.logBytesMax = 2 << 20
    options.flushBytes = 8 << 20
    options.segmentBytesMax = 8 << 20
    options.cacheBytesMax = 16 << 20
    return options
  }

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "dugout-soak-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var soak = SoakRun(folder, seed: options.seed)
    let end = ContinuousClock.now + .seconds(60 * (options.amount ?? 24 * 60))
    while ContinuousClock.now < end, soak.failures.isEmpty { try soak.round() }
    soak.judge()
    options.printUnlessJSON(soak.table)
    if !soak.hasCheckedGrowth {
      options.printUnlessJSON(
        "Growth of memory and descriptors: not judged, because that takes seven rounds.")
    }
    var result = CampaignResult(run: soak.rounds.count, failed: soak.failures.count)
    result.details = soak.details
    result.firstFailure = soak.failures.first
    return result
  }
}

struct SoakRun {
  struct Round {
    var wasKilled = false
    var commits = 0
    var reads = 0
    var snapshots = 0
    /// Measured after the store was closed, so that only leaks remain.
    var residentBytes = 0
    var descriptors = 0
    var peak: UInt64 = 0
    var live: UInt64 = 0
    var longest = Duration.zero
    var longestSync = Duration.zero
  }

  private(set) var rounds: [Round] = []
  private(set) var failures: [String] = []
  private let folder: URL
  private let script: SoakScript
  private var models: [SoakModel]
  private var random: SeededRandom
  private let watched = WatchedFileSystem(PosixFileSystem())
  private var frames: UInt64 = 0
  private var checks = 0
  /// Whether there were enough rounds to detect growth.
  private(set) var hasCheckedGrowth = false
  /// One in this many rounds ends with a full check. The last round always ends with a full check.
  private static let roundsPerCheck = 3

  init(_ folder: URL, seed: UInt64) {
    self.folder = folder
    let script = SoakScript(seed: seed)
    self.script = script
    models = (0..<SoakScript.writers).map { SoakModel(script, writer: $0) }
    random = SeededRandom(seed: seed)
  }

  private var path: String { folder.appendingPathComponent("store").path }

  private var platform: Platform {
    var platform = Platform.real
    platform.fileSystem = watched
    return platform
  }

  // MARK: A round

  mutating func round() throws {
    var round = Round()
    round.wasKilled = rounds.count % 3 == 2
    let milliseconds = 3000 + random.below(6000)
    let acknowledged: [Int]
    do {
      acknowledged =
        try round.wasKilled
        ? runAndKill(after: milliseconds, &round) : runAndClose(after: milliseconds, &round)
      round.live = try compare(with: acknowledged)
    } catch {
      failures.append("round \(rounds.count): \(error)")
      return
    }
    round.residentBytes = ProcessMeasures.residentBytes
    round.descriptors = ProcessMeasures.openDescriptors
    rounds.append(round)
    check(round)
    if rounds.count % Self.roundsPerCheck == 0 { checkEveryByte() }
  }

  private mutating func checkEveryByte() {
    checks += 1
    do {
      let report = try ByteStore.check(path)
      if !report.isSound { failures.append("round \(rounds.count): check finds \(report.findings)") }
    } catch {
      failures.append("round \(rounds.count): check ended with \(error)")
    }
  }

  private mutating func runAndClose(after milliseconds: Int, _ round: inout Round) throws -> [Int] {
    let store = try ByteStore.open(path, options: Soak.options, platform: platform)
    let probe = DeviceProbe(in: folder)
    let path = path
    let peak = Locked<UInt64>(0)
    let end = ContinuousClock.now + .milliseconds(milliseconds)
    let outcome = SoakLoad(store, script, seed: random.next()).run {
      let bytes = DirectoryMeasures.bytes(of: path)
      peak.withLock { $0 = max($0, bytes) }
      return ContinuousClock.now > end
    }
    try store.close()
    if let failure = outcome.failure { throw SoakFailure(description: failure) }
    frames += outcome.frames
    round.longestSync = probe.end().longest
    round.peak = peak.withLock { $0 }
    round.commits = outcome.commits
    round.reads = outcome.reads
    round.snapshots = outcome.snapshots
    round.longest = outcome.longest
    return outcome.acknowledged
  }

  private mutating func runAndKill(after milliseconds: Int, _ round: inout Round) throws -> [Int] {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = [SoakWorker.word, path, "\(script.seed)", "\(random.next())"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let child = process.processIdentifier
    let killer = WorkerThread {
      usleep(UInt32(milliseconds) * 1000)
      kill(child, SIGKILL)
    }
    let printed = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    killer.join()
    try output.fileHandleForReading.close()
    var acknowledged = [Int](repeating: 0, count: SoakScript.writers)
    for line in String(decoding: printed, as: UTF8.self).split(separator: "\n") {
      if line.hasPrefix("failure") { throw SoakFailure(description: String(line)) }
      let words = line.split(separator: " ").compactMap { Int($0) }
      guard words.count == 2, acknowledged.indices.contains(words[0]) else { continue }
      acknowledged[words[0]] = words[1]
      round.commits += 1
    }
    return acknowledged
  }

  /// Compares the store with the acknowledged commits. Returns the number of live bytes.
  private mutating func compare(with acknowledged: [Int]) throws -> UInt64 {
    let store = try ByteStore.open(path, options: Soak.options, platform: platform)
    try store.checkInvariants()
    var count = 0
    for writer in models.indices {
      let last = SoakScript.number(in: try store.value(for: SoakScript.lastCommitKey(writer))) ?? 0
      // One commit of the writer may have been in progress.
      let known = max(acknowledged[writer], models[writer].last)
      guard last == known || last == known + 1 else {
        throw SoakFailure(
          description: "writer \(writer) is at commit \(last), and \(known) was acknowledged")
      }
      models[writer].advance(to: last)
      if let difference = try models[writer].difference(from: store) {
        throw SoakFailure(description: difference)
      }
      count += models[writer].keys.count + (last > 0 ? 1 : 0)
    }
    guard store.count == count else { throw SoakFailure(description: "\(store.count) keys, not \(count)") }
    try store.flush()
    let live = store.statistics.segments.liveBytes
    try store.close()
    return live
  }

  private struct SoakFailure: Error, CustomStringConvertible { var description: String }

  // MARK: Laws

  private mutating func check(_ round: Round) {
    let most = SpaceLimits.directoryBytesMax(live: round.live, Soak.options)
    if round.peak > most { failures.append("\(round.peak) bytes on disk, and \(most) may be") }
    let allowed =
      SpaceLimits.commitMillisecondsMax + SpaceLimits.commitSyncsMax * round.longestSync.milliseconds
    if round.longest.milliseconds > allowed {
      failures.append("a commit took \(round.longest.milliseconds) ms, and \(allowed) may be")
    }
  }

  /// Checks the laws that apply to all rounds together.
  mutating func judge() {
    if rounds.count % Self.roundsPerCheck != 0 { checkEveryByte() }
    if amplification > SpaceLimits.writeAmplificationMax {
      failures.append("\(amplification.withTwoDigits) bytes were written for each one logged")
    }
    // One-time allocations are complete after a round of each kind, so the first rounds are not compared.
    let steadyRounds = rounds.dropFirst(3)
    hasCheckedGrowth = steadyRounds.count >= 4
    guard hasCheckedGrowth else { return }
    let part = max(2, steadyRounds.count / 3)
    let first = steadyRounds.prefix(part), last = steadyRounds.suffix(part)
    let memory = (first.map(\.residentBytes).max() ?? 0, last.map(\.residentBytes).min() ?? 0)
    if memory.1 > memory.0 + memory.0 / 4 + (64 << 20) {
      failures.append("memory grew from \(memory.0) to \(memory.1)")
    }
    let descriptors = (first.map(\.descriptors).max() ?? 0, last.map(\.descriptors).min() ?? 0)
    if descriptors.1 > descriptors.0 + 4 {
      failures.append("open descriptors grew from \(descriptors.0) to \(descriptors.1)")
    }
  }

  private var amplification: Double {
    Double(watched.counters.totalBytesWritten) / Double(max(1, frames))
  }

  // MARK: Reporting

  var table: String {
    let titles = [
      "round", "end", "commits", "reads", "snapshots", "resident MiB", "descriptors", "peak MiB", "live MiB",
      "longest ms", "sync ms",
    ]
    // After hours there are many rounds, so the table shows only some of them.
    let step = max(1, rounds.count / 30)
    return TextTable.text(
      [titles]
        + stride(from: 0, to: rounds.count, by: step).map { number in
          let round = rounds[number]
          return [
            "\(number)", round.wasKilled ? "killed" : "closed", "\(round.commits)", "\(round.reads)",
            "\(round.snapshots)", round.residentBytes.inMebibytes, "\(round.descriptors)",
            round.peak.inMebibytes,
            round.live.inMebibytes, "\(round.longest.milliseconds)", "\(round.longestSync.milliseconds)",
          ]
        })
  }

  var details: [(name: String, value: Int)] {
    [
      ("commits", rounds.reduce(0) { $0 + $1.commits }), ("kills", rounds.count { $0.wasKilled }),
      ("checks", checks), ("growthJudged", hasCheckedGrowth ? 1 : 0),
      ("writtenPer100Logged", Int(100 * amplification)),
      ("residentBytesFirst", rounds.first?.residentBytes ?? 0),
      ("residentBytesLast", rounds.last?.residentBytes ?? 0),
      ("descriptorsFirst", rounds.first?.descriptors ?? 0),
      ("descriptorsLast", rounds.last?.descriptors ?? 0),
      ("peakBytes", Int(rounds.map(\.peak).max() ?? 0)), ("liveBytes", Int(rounds.last?.live ?? 0)),
      ("longestCommitMs", rounds.map(\.longest.milliseconds).max() ?? 0),
      ("longestSyncMs", rounds.map(\.longestSync.milliseconds).max() ?? 0),
    ]
  }
}
