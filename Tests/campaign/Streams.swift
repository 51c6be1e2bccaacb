// A union of streams in sections, as a table sees it (docs/streambasekit.md).

import StreamHarness

enum Streams: Campaign {
  static let name = "streams"
  static let summary =
    "changes 100,000 records below a union of three streams in sections, for a table that refuses invalid updates"
  static let amount = (option: "--changes", standard: Optional(100_000))

  private static let items = 100_000

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let summary = try await UnionCampaign.run(
      items: items, changes: options.amount ?? 1_000_000, seed: options.seed)
    let unreached = UnionCampaign.Kind.allCases.filter { summary.counts[$0, default: 0] == 0 }
    var result = CampaignResult(
      run: summary.changes, failed: (summary.failure == nil ? 0 : 1) + unreached.count)
    result.details = [
      ("items", items), ("comparisons", summary.comparisons), ("batches", summary.batches),
      ("rowsDeleted", summary.rowsDeleted), ("rowsAdded", summary.rowsAdded),
      ("rowsReloaded", summary.rowsReloaded),
    ]
    result.details += UnionCampaign.Kind.allCases.map { ($0.rawValue, summary.counts[$0, default: 0]) }
    result.firstFailure = summary.failure ?? unreached.first.map { "no \($0.rawValue) in any round" }
    return result
  }
}
