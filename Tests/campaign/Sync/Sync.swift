// Clients that write, disconnect and crash, and their authority (docs/reliability.md, P14).

import Dispatch
import Foundation
import Harness

#if Server
import ByteStore
import ServerHarness
#endif

enum Sync: Campaign {
  static let name = "sync"
  static let summary =
    "clients of one authority write, go offline and die; in the end all have the same, once: --target N, history N alone; --target processes:N, history N of killed processes"
  static let hasTargets = true
  static let amount = (option: "--histories", standard: Optional(1_000))
  private static let network = "--over-network"
  static let flags = [network]
  static let textOptions = ["--program"]
  /// Histories in this process for each one of processes that are killed.
  private static let historiesPerKilled = 20
  /// Histories of processes that run at the same time. Their processes mostly wait.
  private static let lanes = 2
  /// Begins the name of a history of processes.
  private static let processes = "processes:"

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    guard !options.flags.contains(network) else { return try await runOverNetwork(options) }
    let history = try options.target.map(historyNumber)
    let histories = options.amount ?? 10_000
    let progress = CampaignProgress(name, of: history == nil ? histories : 1)
    let summary = SyncCampaign.run(
      histories: histories, seed: options.seed, history: history, progress: progress.note)
    let unreached = options.target == nil ? summary.neverReached : []
    var result = CampaignResult(run: summary.histories, failed: summary.failed + unreached.count)
    result.details = SyncCampaign.Kind.allCases.map { ($0.rawValue, summary.counts[$0, default: 0]) }
    result.details.append(("trace", Int(truncatingIfNeeded: summary.trace % 1_000_000_007)))
    if !summary.failures.isEmpty {
      result.notes.append(("failedHistories", summary.failures.map(String.init).joined(separator: " ")))
    }
    result.firstFailure = summary.firstFailure ?? unreached.first.map { "no \($0.rawValue) in any history" }
    return result
  }

  /// The clients reach a server of this process over sockets, through a proxy with faults.
  private static func runOverNetwork(_ options: CampaignOptions) async throws -> CampaignResult {
    #if Server
    if let target = options.target, target.hasPrefix(processes) {
      let number = try historyNumber(String(target.dropFirst(processes.count)))
      var result = CampaignResult(run: 0, failed: 0)
      try runProcesses([number], options, &result)
      return result
    }
    let history = try options.target.map(historyNumber)
    let histories = options.amount ?? 20_000
    let progress = SharedProgress(name, of: history == nil ? histories : 1)
    let summary = await NetworkSyncCampaign.run(
      histories: histories, seed: options.seed, history: history, progress: progress.note)
    let unreached = history == nil && histories >= 500 ? summary.neverReached : []
    var result = CampaignResult(run: summary.histories, failed: summary.failed + unreached.count)
    result.details = summary.details
    if !summary.failures.isEmpty {
      result.notes.append(("failedHistories", summary.failures.map(String.init).joined(separator: " ")))
    }
    result.firstFailure = summary.firstFailure ?? unreached.first.map { "no \($0) in any history" }
    if history == nil { try runProcesses(Array(0..<histories / historiesPerKilled), options, &result) }
    return result
    #else
    complain("SKIPPED: there is no server, because this program was built without --traits Server,TLS")
    return CampaignResult(run: 0, failed: 0)
    #endif
  }

  #if Server
  /// Kills processes in each of these histories.
  private static func runProcesses(
    _ histories: [Int], _ options: CampaignOptions, _ result: inout CampaignResult
  ) throws {
    guard !histories.isEmpty else { return }
    guard let program = ServedProgram.program(options) else {
      complain("SKIPPED: no processes are killed, because there is no program `dugout` (--program PATH)")
      return
    }
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-sync-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let progress = SharedProgress("\(name): processes", of: histories.count)
    let ended = Locked<[(number: Int, counts: SyncKills.Counts, failure: String?)]>([])
    let next = Locked(0)
    DispatchQueue.concurrentPerform(iterations: lanes) { _ in
      while let number = next.withLock({ next in
        defer { next += 1 }
        return next < histories.count ? histories[next] : nil
      }) {
        let outcome = SyncKills.run(
          program, in: folder.appendingPathComponent("\(number)"),
          seed: SeededRandom.seed(options.seed, 1, UInt64(number)))
        if let failure = outcome.failure { complain("history \(processes)\(number): \(failure)") }
        let done = ended.withLock {
          $0.append((number, outcome.counts, outcome.failure))
          return $0.count
        }
        progress.note(done)
      }
    }
    var counts = SyncKills.Counts()
    for outcome in ended.withLock({ $0 }).sorted(by: { $0.number < $1.number }) {
      counts.add(outcome.counts)
      result.run += 1
      guard let failure = outcome.failure else { continue }
      result.failed += 1
      result.firstFailure = result.firstFailure ?? "history \(processes)\(outcome.number): \(failure)"
    }
    result.details += counts.details
  }
  #endif

  static func historyNumber(_ target: String) throws -> Int {
    guard let number = Int(target), number >= 0 else { throw NoHistory(target: target) }
    return number
  }

  private struct NoHistory: Error, CustomStringConvertible {
    var target: String
    var description: String { "--target takes the number of a history, from 0 on, and not \(target)" }
  }
}
