// Compares functions on the bytes of records with the same functions on entries.

import Harness

enum Records: Campaign {
  static let name = "records"
  static let summary = "compares patches, sizes and index keys of records with those of decoded fields"
  static let amount = (option: "--count", standard: Optional(20_000))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let steps = options.amount ?? 5_000_000
    let progress = CampaignProgress(name, of: steps)
    let summary = RecordCampaign.run(steps: steps, seed: options.seed, progress: progress.note)
    let unreached = summary.neverReached
    var result = CampaignResult(
      run: summary.steps, failed: (summary.failure == nil ? 0 : 1) + unreached.count)
    result.details = [("programs", summary.programs)]
    result.details += RecordCampaign.Kind.allCases.map { ($0.rawValue, summary.counts[$0, default: 0]) }
    result.firstFailure = summary.failure ?? unreached.first.map { "no \($0.rawValue) in any program" }
    return result
  }
}
