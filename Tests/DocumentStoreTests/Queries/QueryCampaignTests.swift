import Harness
import Testing

/// The campaign `queries`, shortened.
@Suite("The campaign of queries")
struct QueryCampaignTests {
  @Test("finds no other answers")
  func campaignFindsNoWrongResults() {
    let summary = QueryCampaign.run(queries: 1500, seed: 2)
    #expect(summary.failure == nil)
  }

  @Test("finds none among more documents than are read at once")
  func campaignFindsNoWrongResultsInSeveralWaves() {
    let summary = QueryCampaign.run(queries: 40, seed: 2, first: 11)
    #expect(summary.failure == nil)
    #expect(summary.counts[.severalWaves, default: 0] > 0)
  }
}
