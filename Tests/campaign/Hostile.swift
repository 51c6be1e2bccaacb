// Clients whose remotes send invalid data in every field (docs/reliability.md, P12).

import Harness

enum Hostile: Campaign {
  static let name = "hostile"
  static let summary =
    "clients of a remote that lies, in the end with a healthy store and the remote's true data: --target N, history N alone"
  static let hasTargets = true
  static let amount = (option: "--histories", standard: Optional(1_000))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let history = try options.target.map(Sync.historyNumber)
    let histories = options.amount ?? 10_000
    let progress = CampaignProgress(name, of: history == nil ? histories : 1)
    let summary = HostileCampaign.run(
      histories: histories, seed: options.seed, history: history, progress: progress.note)
    let neverSent = options.target == nil ? summary.neverSent : []
    var result = CampaignResult(run: summary.histories, failed: summary.failed + neverSent.count)
    result.details = InvalidField.allCases.map { ($0.rawValue, summary.invalidCounts[$0, default: 0]) }
    result.details.append(("refusals", summary.refusals))
    if !summary.failures.isEmpty {
      result.notes.append(("failedHistories", summary.failures.map(String.init).joined(separator: " ")))
    }
    result.firstFailure =
      summary.firstFailure ?? neverSent.first.map { "no lie about \($0.rawValue) in any history" }
    return result
  }
}
