// Random transactions on many threads, and a checker of their recorded histories (docs/reliability.md, P13).

import Harness

enum Transactions: Campaign {
  static let name = "transactions"
  static let summary = "runs random transactions and queries from many threads and checks their histories"
  static let amount = (option: "--histories", standard: Optional(1000))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let histories = options.amount ?? 100_000
    let progress = CampaignProgress(name, of: histories)
    let summary = TransactionCampaign.run(
      histories: histories, seed: options.seed, progress: progress.note)
    let unreached = summary.neverReached
    var result = CampaignResult(
      run: summary.histories, failed: (summary.failure == nil ? 0 : 1) + unreached.count)
    result.details = TransactionCampaign.Kind.allCases.map {
      ($0.rawValue, summary.counts[$0, default: 0])
    }
    result.firstFailure = summary.failure ?? unreached.first.map { "no \($0.rawValue) in any history" }
    return result
  }
}
