// Breaks each rule of the protocol in turn: some test must notice (docs/reliability.md, T9).

import ByteStore
import Harness

enum Mutants: Campaign {
  static let name = "mutants"
  static let summary = "breaks each rule of the protocol and must see a campaign notice"
  static let amount = (option: "--states", standard: Optional(30_000))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    var result = CampaignResult(run: 0, failed: 0)
    for rule in Rule.allCases {
      result.run += 1
      if let killer = killer(of: rule, statesMax: options.amount ?? 1_000_000, seed: options.seed) {
        say("\(rule.rawValue): killed by \(killer)")
        continue
      }
      result.failed += 1
      result.firstFailure = result.firstFailure ?? "nothing notices that \(rule.rawValue) is broken"
      say("\(rule.rawValue): ALIVE")
    }
    return result
  }

  /// What noticed, and after how many states.
  private static func killer(of rule: Rule, statesMax: Int, seed: UInt64) -> String? {
    guard !Rule.ofContents.contains(rule) else {
      let summary = BlobCampaign.run(states: statesMax, seed: seed, breaking: rule, stopsAtFirst: true)
      return summary.failures > 0 ? "the campaign over contents in \(summary.states) states" : nil
    }
    let failure = CrashCampaign.firstFailure(
      statesMax: statesMax, seed: seed, commitsWaiting: { $0.commitsWaiting }, breaking: rule)
    if let failure {
      return "the crash campaign in \(failure.state) states (\(failure.finding.kind.rawValue))"
    }
    let matrix = CorruptionMatrix.run(flips: .random(3000), seed: seed, breaking: rule)
    return matrix.harm > 0 ? "the corruption matrix of \(matrix.total.all) damages" : nil
  }
}
