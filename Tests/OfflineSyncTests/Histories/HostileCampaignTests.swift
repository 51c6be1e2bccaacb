// A few histories of clients with hostile remotes. `campaign hostile` runs many histories.

import Foundation
import Harness
import Testing

@Suite struct HostileCampaignTests {
  @Test func invalidFieldsFromARemoteDamageNoStore() {
    let seed =
      ProcessInfo.processInfo.environment["DUGOUT_SEED"].flatMap(UInt64.init)
      ?? UInt64.random(in: 0...1 << 40)
    let summary = HostileCampaign.run(
      histories: ProcessInfo.processInfo.environment["DUGOUT_HISTORIES"].flatMap(Int.init) ?? 5, seed: seed)
    #expect(summary.failed == 0, "seed \(seed): \(summary.firstFailure ?? "")")
    #expect(summary.refusals > 0, "seed \(seed)")
  }
}
