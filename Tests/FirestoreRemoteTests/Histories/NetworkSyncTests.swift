#if Server
import Harness
import ServerHarness
import Testing

@Suite struct NetworkSyncTests {
  @Test func clientsBehindAFaultyProxyConverge() async {
    let summary = await NetworkSyncCampaign.run(histories: 12, seed: 21)
    #expect(summary.failed == 0, "\(summary.firstFailure ?? "")")
    #expect(summary.histories == 12)
    #expect(summary.counts[.words, default: 0] > 0)
    #expect(summary.world.restarts + summary.world.kills + summary.world.powerLosses > 0)
  }
}
#endif
