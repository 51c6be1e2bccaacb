import Harness
import Testing

/// The campaign `queries`, as far as there is time for it.
@Suite("The campaign of queries")
struct QueryCampaignTests {
  @Test("finds no other answers")
  func isClean() {
    let summary = QueryCampaign.run(queries: 1500, seed: 2)
    #expect(summary.failure == nil)
  }
}
