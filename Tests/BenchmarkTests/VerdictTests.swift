// Ratios to the best peer, and the goals that a run meets.

import Testing

@Suite struct VerdictTests {
  @Test func theBestPeerIsTheBestOfAllItsForms() throws {
    let verdict = try #require(self.verdict(of: "get, every field visited"))
    #expect(verdict.bestPeer == "lmdb")
    #expect(verdict.value == 0.5)
    #expect(verdict.isMet)
  }

  @Test func theRatioOfRatesIsThatOfTimes() throws {
    let verdict = try #require(self.verdict(of: "bulk load"))
    #expect(verdict.value == 38)
    #expect(!verdict.isMet)
    #expect(verdict.sentence == "bulk load: 38.0 × rocksdb (31.1 – 46.4), goal ≤ 0.40")
  }

  @Test func anAbsoluteGoalHasItsUnit() throws {
    let verdict = try #require(self.verdict(of: "get, absolute"))
    #expect(verdict.sentence == "get, absolute: 1.00 µs, goal ≤ 1.00 µs")
  }

  @Test func aGoalOverAnotherValueOfDugoutNeedsNoPeer() throws {
    let verdict = try #require(self.verdict(of: "struct relative to fields"))
    #expect(verdict.bestPeer == nil)
    #expect(verdict.value == 4)
  }

  @Test func aLimitOfTheMachineIsNoPeer() throws {
    let verdict = try #require(self.verdict(of: "commits of one document"))
    #expect(verdict.bestPeer == "leveldb")
  }

  @Test func aPeerWithTheValueZeroGivesNoVerdict() {
    let rows = [row("dugout", 1), row("lmdb", 0)]
    #expect(Verdict("W13", Goal.ratio("memory", "opened_only_bytes", 1.2), rows) == nil)
  }

  @Test func aGoalWithoutItsValuesGivesNoVerdict() {
    let goal = Goal.ratio("memory", "opened_only_bytes", 1.2)
    #expect(Verdict("W13", goal, [row("dugout", 1)]) == nil)
    #expect(Verdict("W13", goal, [row("lmdb", 1)]) == nil)
  }

  private func verdict(of title: String) -> Verdict? {
    SampleRun.results().verdicts.first { $0.goal.title == title }
  }

  private func row(_ engine: String, _ value: Double) -> ResultRow {
    ResultRow(workload: "W13", engine: engine, metric: "opened_only_bytes", values: [value], documents: 1)
  }
}
