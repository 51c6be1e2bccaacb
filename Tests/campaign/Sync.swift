// Clients that write, go away and die, and their authority (docs/reliability.md, P14).

import Harness

enum Sync: Campaign {
  static let name = "sync"
  static let summary =
    "clients of one authority write, go offline and die; in the end all have the same, once"
  static let amount = (option: "--histories", standard: Optional(1_000))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let summary = SyncCampaign.run(histories: options.amount ?? 10_000, seed: options.seed)
    let unreached = summary.neverReached
    var result = CampaignResult(run: summary.histories, failed: summary.failed + unreached.count)
    result.details = SyncCampaign.Kind.allCases.map { ($0.rawValue, summary.counts[$0, default: 0]) }
    result.details.append(("trace", Int(truncatingIfNeeded: summary.trace % 1_000_000_007)))
    result.firstFailure = summary.firstFailure ?? unreached.first.map { "no \($0.rawValue) in any history" }
    return result
  }
}
