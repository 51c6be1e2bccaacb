// Uploads, deletes, sweeps and crashes: nothing acknowledged is lost, and nothing is leaked (docs/reliability.md, C6).

import Harness

enum Blobs: Campaign {
  static let name = "blobs"
  static let summary =
    "uploads, deletes and sweeps objects on a disk that fails, and looks for lost and leaked ones"
  static let amount = (option: "--states", standard: Optional(20_000))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let summary = BlobCampaign.run(states: options.amount ?? 1_000_000, seed: options.seed)
    let unreached = summary.neverReached
    var result = CampaignResult(run: summary.states, failed: summary.failures + unreached.count)
    result.details =
      summary.steps.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
      + summary.reached.sorted { $0.key.rawValue < $1.key.rawValue }.map {
        ("crashes before " + $0.key.rawValue, $0.value)
      }
    result.firstFailure = summary.firstFailure ?? unreached.first.map { "no \($0) in any workload" }
    return result
  }
}
