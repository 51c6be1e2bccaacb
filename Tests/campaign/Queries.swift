// Compares random queries on a document store with a naive evaluator (docs/reliability.md, T5).

import Harness

enum Queries: Campaign {
  static let name = "queries"
  static let summary = "compares the queries of a document store with a naive evaluator"
  static let amount = (option: "--count", standard: Optional(20_000))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let queries = options.amount ?? 2_000_000
    let progress = CampaignProgress(name, of: queries)
    let summary = QueryCampaign.run(queries: queries, seed: options.seed, progress: progress.note)
    let unreached = summary.neverReached
    var result = CampaignResult(
      run: summary.queries, failed: (summary.failure == nil ? 0 : 1) + unreached.count)
    result.details = [("programs", summary.programs)]
    result.details += QueryCampaign.Kind.allCases.map { ($0.rawValue, summary.counts[$0, default: 0]) }
    result.firstFailure = summary.failure ?? unreached.first.map { "no \($0.rawValue) in any program" }
    return result
  }
}
