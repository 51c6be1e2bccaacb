// The progress lines of a long campaign.

import Testing

@testable import campaign

@Suite struct CampaignProgressTests {
  @Test func aLineShowsCompletedAndRemainingWork() {
    func line(_ done: Int, _ seconds: Int) -> String {
      CampaignProgress.line("model", done: done, of: 1000, after: .seconds(seconds))
    }
    #expect(line(0, 60) == "model: 0 of 1000")
    #expect(line(900, 60) == "model: 900 of 1000, about 7 s left")
    #expect(line(100, 60) == "model: 100 of 1000, about 9 min left")
    #expect(line(1000, 60) == "model: 1000 of 1000")
  }
}
