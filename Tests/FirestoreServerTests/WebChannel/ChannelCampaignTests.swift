// A short run of the campaign of WebChannel.

import Foundation
import ServerHarness
import Testing

#if Server
@Suite struct ChannelCampaignTests {
  @Test func nothingIsLostAndNothingIsRepeated() async throws {
    let environment = ProcessInfo.processInfo.environment
    let histories = environment["DUGOUT_CHANNEL_HISTORIES"].flatMap { Int($0) } ?? 12
    let seed = environment["DUGOUT_SEED"].flatMap { UInt64($0) } ?? 1
    let summary = try await ChannelCampaign.run(histories: histories, seed: seed)
    #expect(summary.histories == histories)
    #expect(summary.failed == 0)
    if let failure = summary.firstFailure { Issue.record("\(failure)") }
    #expect(summary.writes > 0)
    #expect(summary.counts.repeatedRequests > 0)
    // A quarter of the histories drain their server.
    if histories >= 100 { #expect(summary.lateResults > 0) }
  }
}
#endif
