import Harness
import Testing

/// The campaign `records`, shortened.
@Suite("The campaign of records")
struct RecordCampaignTests {
  @Test("finds no difference between records and their decoded fields")
  func campaignFindsNoDifference() {
    let summary = RecordCampaign.run(steps: 400, seed: 2)
    #expect(summary.failure == nil)
  }
}
