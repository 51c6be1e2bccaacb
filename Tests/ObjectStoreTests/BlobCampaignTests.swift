// Short runs of the object campaign, also with each of its rules broken once.

import ByteStore
import Harness
import Testing

struct BlobCampaignTests {
  @Test func noObjectIsLostOrLeaked() {
    let summary = BlobCampaign.run(states: 300, seed: 1)
    #expect(summary.failures == 0, "\(summary.firstFailure ?? "")")
    #expect(summary.neverReached == [])
  }

  @Test(arguments: Rule.contentRules.sorted { $0.rawValue < $1.rawValue })
  func aViolatedInvariantIsDetected(rule: Rule) {
    let summary = BlobCampaign.run(states: 5000, seed: 1, breaking: rule, stopsAtFirst: true)
    #expect(summary.failures > 0, "nothing noticed that \(rule) was broken")
  }
}
