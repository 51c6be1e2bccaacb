// Thousands of live queries under random commits, compared with fresh queries (docs/reliability.md, T5).

import Foundation
import Harness

enum Live: Campaign {
  static let name = "live"
  static let summary = "commits from eight threads under 2,000 live queries and compares them with fresh ones"
  static let amount = (option: "--count", standard: Optional(20_000))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "dugout-live-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let commits = options.amount ?? 1_000_000
    let progress = CampaignProgress(name, of: commits)
    let summary = LiveCampaign.run(
      commits: commits, seed: options.seed, in: folder.path, progress: progress.note)
    let unreached = summary.neverReached
    var result = CampaignResult(
      run: summary.commits, failed: (summary.failure == nil ? 0 : 1) + unreached.count)
    result.details = [("comparisons", summary.comparisons)]
    result.details += LiveCampaign.Kind.allCases.map { ($0.rawValue, summary.counts[$0, default: 0]) }
    result.firstFailure = summary.failure ?? unreached.first.map { "no \($0.rawValue) in any round" }
    return result
  }
}
