// Results as JSON, and the sentences about incomplete runs.

import Foundation
import Testing

@Suite struct RunResultsTests {
  @Test func writtenResultsAreReadBack() throws {
    let results = SampleRun.results()
    #expect(try RunResults(json: results.json) == results)
  }

  @Test func infinitiesAreReadBack() throws {
    var results = SampleRun.results()
    results.add(
      [ResultRow(workload: "W1", engine: "dugout", metric: "x", values: [.infinity], documents: 1)], [])
    #expect(try RunResults(json: results.json) == results)
  }

  /// Other tools read these keys.
  @Test func theKeysOfRowsAndGoalsStay() throws {
    let objects = try #require(
      JSONSerialization.jsonObject(with: SampleRun.results().json) as? [[String: Any]])
    let row = try #require(objects.first)
    #expect(
      row.keys.sorted()
        == ["documents", "engine", "max", "median", "metric", "min", "runs", "workload"])
    let goal = try #require(objects.first { $0["goal"] != nil })
    #expect(goal["best_peer"] as? String == "leveldb")
    #expect(goal["met"] as? Bool == false)
    #expect(goal["ratio_to_best_peer"] != nil)
    let absolute = try #require(objects.first { $0["title"] as? String == "get, absolute" })
    #expect(absolute["value"] as? Double == 1000)
  }

  @Test func rowsWithoutExtremesHaveTheMedianAsBoth() throws {
    let json = """
      [{"workload": "W1", "engine": "dugout", "metric": "get_ns", "median": 3, "runs": 5, "documents": 1},
       {"run": {"date": "2026-01-01", "command": "", "seconds": 1, "documents": [1], "rounds": 5,
        "optimised": true, "machine": {}, "cold_open": "", "missing": [], "engines": {}, "workloads": []}}]
      """
    let results = try RunResults(json: Data(json.utf8))
    #expect(results.rows.map(\.min) == [3])
    #expect(results.rows.map(\.max) == [3])
  }

  @Test(arguments: [
    ("no json", "it is not JSON"), ("{}", "a value has another type"),
    ("[]", "the key \"run\" is missing"),
    (#"[{"workload": "W1"}]"#, "in entry 1, the key \"engine\" is missing"),
    (#"[{"goal": 1, "workload": 5}]"#, "in entry 1, a value has another type"),
  ])
  func unreadableResultsAreRefusedWithAReason(text: String, reason: String) {
    let error = #expect(throws: UnreadableResults.self) { try RunResults(json: Data(text.utf8)) }
    #expect(error?.description == reason)
  }

  // MARK: Notices

  @Test func aFullRunHasNoNotice() {
    #expect(SampleRun.results().notices == [])
  }

  @Test func aSmallRunSaysSo() {
    #expect(
      SampleRun.results(documents: 50_000, rounds: 1).notices == [
        "Small run: 50,000 documents, 1 round. A full run has 1,000,000 documents and 5 rounds. "
          + "These numbers do not show how the engines compare."
      ])
  }

  @Test func fewRoundsAreNamed() throws {
    let notice = try #require(SampleRun.results(rounds: 2).notices.first)
    #expect(notice.hasPrefix("Few rounds: 1,000,000 documents, 2 rounds."))
  }

  @Test func leftOutWorkloadsAndMissingPeersAreNamed() {
    var facts = SampleRun.results().facts
    facts.missing = ["rocksdb"]
    facts.isOptimised = false
    #expect(
      facts.notices(measured: ["W1", "W5"]) == [
        "This is a debug build. Its numbers mean nothing.", "This run left out 1 of 3 workloads: W4.",
        "RocksDB is not compared, because librocksdb-dev is not installed.",
      ])
  }

  @Test func aRunOfFewWorkloadsNamesThose() {
    #expect(
      SampleRun.results().facts.notices(measured: ["W5"])
        == ["This run measured only 1 of 3 workloads: W5."])
  }

  @Test func versionsComeBeforeTheMachineAndUnknownFactsLast() {
    var facts = SampleRun.results().facts
    facts.machine["Colour"] = "grey"
    #expect(facts.machineLines.map(\.name) == ["Dugout", "LMDB", "Processor", "Colour"])
  }
}
