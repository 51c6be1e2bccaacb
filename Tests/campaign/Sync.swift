// Clients that write, disconnect and crash, and their authority (docs/reliability.md, P14).

import Harness

enum Sync: Campaign {
  static let name = "sync"
  static let summary =
    "clients of one authority write, go offline and die; in the end all have the same, once: --target N, history N alone"
  static let hasTargets = true
  static let amount = (option: "--histories", standard: Optional(1_000))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
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

  static func historyNumber(_ target: String) throws -> Int {
    guard let number = Int(target), number >= 0 else { throw NoHistory(target: target) }
    return number
  }

  private struct NoHistory: Error, CustomStringConvertible {
    var target: String
    var description: String { "--target takes the number of a history, from 0 on, and not \(target)" }
  }
}
