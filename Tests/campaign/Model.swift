// Compares random programs on the byte store with a dictionary (docs/reliability.md, T5).

import Harness

enum Model: Campaign {
  static let name = "model"
  static let summary = "runs random programs on the byte store and on a dictionary"
  static let amount = (option: "--operations", standard: Optional(200_000))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let operations = options.amount ?? 10_000_000
    let progress = CampaignProgress(name, of: operations)
    let summary = ModelCampaign.run(operations: operations, seed: options.seed, progress: progress.note)
    let unreached = summary.neverReached
    var result = CampaignResult(
      run: summary.operations, failed: (summary.failure == nil ? 0 : 1) + unreached.count)
    result.details = [("programs", summary.programs)]
    result.details += ModelCampaign.Kind.allCases.map { ($0.rawValue, summary.counts[$0, default: 0]) }
    result.firstFailure = summary.failure ?? unreached.first.map { "no \($0.rawValue) in any program" }
    return result
  }
}
