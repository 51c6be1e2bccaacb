// Every kind of damage to every kind of file (docs/reliability.md, T4).

import Harness

enum Corruption: Campaign {
  static let name = "corrupt"
  static let summary = "damages stores bit by bit, file by file, and looks for harm that nobody noticed"
  static let amount = (option: "--flips", standard: Optional(20_000))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let summary = CorruptionMatrix.run(
      flips: options.amount.map { .eachKind(thenRandom: $0) } ?? .all, seed: options.seed)
    say("\(summary)")
    var result = CampaignResult(run: summary.total.all, failed: summary.harm)
    result.details = [
      ("detected", summary.total.detected), ("harmless", summary.total.identical),
      ("reportedLoss", summary.total.reported), ("asAfterACrash", summary.total.unwritten),
      ("undetected", summary.harm),
    ]
    result.firstFailure = summary.firstHarm
    return result
  }
}
