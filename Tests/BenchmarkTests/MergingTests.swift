// Results of several runs together.

import Testing

@Suite struct MergingTests {
  @Test func aSecondRunAddsItsWorkloads() throws {
    let all = SampleRun.results()
    let merged = try part(["W1", "W5"]).merged(with: part(["W4"]))
    #expect(merged.verdicts == all.verdicts)
    #expect(merged.rows.map(\.workload).count == all.rows.count)
    #expect(merged.comparisons == all.comparisons)
    #expect(merged.notices == [])
  }

  @Test func aSecondRunReplacesEarlierResultsOfItsWorkloads() throws {
    var second = RunResults(SampleRun.results().facts)
    let row = ResultRow(
      workload: "W4", engine: "dugout", metric: "docs_per_s", values: [7], documents: 1_000_000)
    second.add([row], [])
    let merged = try SampleRun.results().merged(with: second)
    #expect(merged.rows.filter { $0.workload == "W4" } == [row])
    #expect(!merged.verdicts.contains { $0.workload == "W4" })
    #expect(merged.verdicts.count == SampleRun.results().verdicts.count - 1)
  }

  @Test func commandsAndTimesAreThoseOfBothRuns() throws {
    var (first, second) = (part(["W1"]), part(["W4"]))
    (first.facts.seconds, second.facts.seconds) = (100, 11)
    second.facts.command = "benchmarks --only W4"
    let facts = try first.merged(with: second).facts
    #expect(facts.seconds == 111)
    #expect(facts.command == "benchmarks --documents 1000000 --runs 5\nbenchmarks --only W4")
  }

  @Test func runsOfAnotherSizeAreRefused() {
    let small = SampleRun.results(documents: 1000)
    let error = #expect(throws: UnmatchedRuns.self) { try part(["W1"]).merged(with: small) }
    #expect(error?.fact == "Size")
    #expect(error?.second == "1,000 documents, 5 rounds")
  }

  @Test func runsOfAnotherCommitAreRefused() {
    var other = part(["W4"])
    other.facts.machine["Dugout"] = "commit 5678"
    let error = #expect(throws: UnmatchedRuns.self) { try part(["W1"]).merged(with: other) }
    #expect(
      error?.description
        == "the runs differ, so their results do not belong together: Dugout: commit 1234, and commit 5678")
  }

  @Test func anotherLoadBeforeTheRunIsNoDifference() throws {
    var other = part(["W4"])
    other.facts.machine["Load before the run"] = "9"
    #expect(try part(["W1"]).merged(with: other).rows.count == 6)
  }

  private func part(_ workloads: Set<String>) -> RunResults {
    let all = SampleRun.results()
    var part = RunResults(all.facts)
    part.add(
      all.rows.filter { workloads.contains($0.workload) },
      all.verdicts.filter { workloads.contains($0.workload) })
    return part
  }
}
