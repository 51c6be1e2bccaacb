// Clients of WebChannel behind a proxy that cuts, delays, loses and repeats.

import Foundation
import Harness
import ServerHarness

enum ChannelHistories: Campaign {
  static let name = "webchannel"
  static let summary =
    "clients of WebChannel behind a proxy with faults; nothing may be lost or come twice: --target N, history N alone"
  static let hasTargets = true
  static let amount = (option: "--histories", standard: Optional(2_000))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    #if Server
    let history = try options.target.map(Sync.historyNumber)
    let histories = options.amount ?? 20_000
    let progress = SharedProgress(name, of: history == nil ? histories : 1)
    let summary = try await ChannelCampaign.run(
      histories: histories, seed: options.seed, history: history, progress: progress.note)
    let unreached = history == nil && histories >= 500 ? summary.neverReached : []
    var result = CampaignResult(run: summary.histories, failed: summary.failed + unreached.count)
    result.details = summary.details
    result.firstFailure = summary.firstFailure ?? unreached.first.map { "no \($0) in any history" }
    return result
    #else
    complain("SKIPPED: there is no server, because this program was built without --traits Server,TLS")
    return CampaignResult(run: 0, failed: 0)
    #endif
  }
}
