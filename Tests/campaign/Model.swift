// Random programs on the store of bytes against a plain dictionary (docs/reliability.md, T5).

import Harness

enum Model: Campaign {
  static let name = "model"
  static let summary = "runs random programs on the store of bytes and on a dictionary"
  static let amount = (option: "--operations", standard: Optional(200_000))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let summary = ModelCampaign.run(operations: options.amount ?? 10_000_000, seed: options.seed)
    var result = CampaignResult(run: summary.operations, failed: summary.failure == nil ? 0 : 1)
    result.details = [
      ("programs", summary.programs), ("commits", summary.commits), ("reads", summary.reads),
      ("reopens", summary.reopens), ("maintenances", summary.maintenances),
    ]
    result.firstFailure = summary.failure
    return result
  }
}
