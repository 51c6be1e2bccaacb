// Model clients that watch an authority and write to it, while both die and the authority is set back
// (docs/reliability.md, P14).

import Harness

enum Authorities: Campaign {
  static let name = "authority"
  static let summary =
    "model clients of an authority that dies and is set back; each snapshot must be exact, each write count once: --target N, history N alone"
  static let hasTargets = true
  static let amount = (option: "--histories", standard: Optional(1_000))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let history = try options.target.map(Sync.historyNumber)
    let histories = options.amount ?? 100_000
    let progress = CampaignProgress(name, of: history == nil ? histories : 1)
    let summary = AuthorityCampaign.run(
      histories: histories, seed: options.seed, history: history, progress: progress.note)
    let unreached = options.target == nil ? summary.neverReached : []
    var result = CampaignResult(run: summary.histories, failed: summary.failed + unreached.count)
    result.details = AuthorityCampaign.Kind.allCases.map { ($0.rawValue, summary.counts[$0, default: 0]) }
    result.details.append(("trace", Int(truncatingIfNeeded: summary.trace % 1_000_000_007)))
    if !summary.failures.isEmpty {
      result.notes.append(("failedHistories", summary.failures.map(String.init).joined(separator: " ")))
    }
    result.firstFailure = summary.firstFailure ?? unreached.first.map { "no \($0.rawValue) in any history" }
    return result
  }
}
