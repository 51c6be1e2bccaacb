// Small runs of the model campaign. The campaign program runs large ones.

import ByteStore
import Harness
import Testing

@Suite struct ModelCampaignTests {
  @Test func randomProgramsEqualADictionary() {
    let summary = ModelCampaign.run(operations: 4_000, seed: 1)
    #expect(summary.failure == nil)
    #expect(summary.counts[.compactions, default: 0] > 0)
    #expect(summary.counts[.commitsBetweenFlushSteps, default: 0] > 0)
  }

  @Test func aFlushThatOverwritesLaterCommitsIsNoticed() {
    let summary = ModelCampaign.run(operations: 20_000, seed: 1, breaking: .keepLaterCommits)
    #expect(summary.failure != nil)
  }

  @Test func sameSeedGivesTheSameProgram() {
    let runs = (1...2).map { _ in ModelCampaign.run(operations: 1_500, seed: 3) }
    #expect(runs[0].counts == runs[1].counts)
  }
}
