// Checks a union of streams in sections, as a table view would show it (docs/streambasekit.md).

import StreamHarness

enum Streams: Campaign {
  static let name = "streams"
  static let summary =
    "changes records below a union of 100,000 from three streams in sections, for a table that refuses invalid updates"
  static let amount = (option: "--changes", standard: Optional(100_000))

  /// The number of items in a full run; a short run has fewer.
  private static let itemsMax = 100_000
  private static let itemsPerChange = 5

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let changes = options.amount ?? 1_000_000
    let items = min(itemsMax, min(changes, itemsMax) * itemsPerChange)
    let summary = try await UnionCampaign.run(items: items, changes: changes, seed: options.seed)
    let unreached = UnionCampaign.Kind.allCases.filter { summary.counts[$0, default: 0] == 0 }
    var result = CampaignResult(
      run: summary.changes, failed: (summary.failure == nil ? 0 : 1) + unreached.count)
    result.details = [
      ("itemsAtStart", summary.itemsAtStart), ("itemsLeast", summary.itemsLeast),
      ("meddled", summary.meddled), ("comparisons", summary.comparisons), ("batches", summary.batches),
      ("rowsDeleted", summary.rowsDeleted), ("rowsAdded", summary.rowsAdded),
      ("rowsReloaded", summary.rowsReloaded),
    ]
    result.details += UnionCampaign.Kind.allCases.map { ($0.rawValue, summary.counts[$0, default: 0]) }
    result.firstFailure = summary.failure ?? unreached.first.map { "no \($0.rawValue) in any round" }
    return result
  }
}
