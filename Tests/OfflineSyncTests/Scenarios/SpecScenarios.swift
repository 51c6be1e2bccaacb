// Sync scenarios: our own, and the files in a directory that FIRESTORE_SPEC_DIR names. Each one runs with a
// remote that passes values, and over WebChannel.

import Foundation
import Testing

@Suite(.serialized) struct SpecScenarios {
  private struct Tally {
    var passed = 0
    var failures: [String] = []
    var skipped: [String: Int] = [:]
    /// Scenarios that exclude clients of this kind. They are run but need not pass.
    var excludedPassed = 0
    var excludedFailures: [String] = []
  }

  @Test(arguments: Scenario.Mode.allCases)
  func everyScenarioInThisRepositoryPasses(_ mode: Scenario.Mode) throws {
    try runAll(in: Self.ownFolder, mode, .direct)
  }

  @Test(arguments: Scenario.Mode.allCases)
  func everyScenarioInThisRepositoryPassesOverWebChannel(_ mode: Scenario.Mode) throws {
    try runAll(in: Self.ownFolder, mode, .webChannel)
  }

  @Test(arguments: Scenario.Mode.allCases)
  func everyRunnableScenarioPasses(_ mode: Scenario.Mode) throws { try runGiven(mode, .direct) }

  @Test(arguments: Scenario.Mode.allCases)
  func everyRunnableScenarioPassesOverWebChannel(_ mode: Scenario.Mode) throws {
    try runGiven(mode, .webChannel)
  }

  private static let ownFolder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fixtures/Scenarios").path

  private func runGiven(_ mode: Scenario.Mode, _ connection: Scenario.Connection) throws {
    guard let directory = ProcessInfo.processInfo.environment["FIRESTORE_SPEC_DIR"] else {
      print("SKIPPED: no scenarios of synchronisation were run: FIRESTORE_SPEC_DIR names no directory.")
      return
    }
    let (names, count) = try runAll(in: directory, mode, connection)
    guard names == Self.given else { return }
    #expect(count == (mode == .memory ? 118 : 121), "of the given scenarios some are not run any more")
  }

  /// The spec files that the engine follows. The number of scenarios is checked only if the directory
  /// contains exactly these files.
  private static let given = Set(
    ["collection", "existence_filter", "limit", "listen", "orderby", "query", "resume_token", "write"]
      .map { "\($0)_spec_test.json" })

  /// Runs all files of a directory. Returns their names and the number of scenarios, including failed ones.
  @discardableResult
  private func runAll(
    in directory: String, _ mode: Scenario.Mode, _ connection: Scenario.Connection
  ) throws -> (names: Set<String>, count: Int) {
    let files = try FileManager.default.contentsOfDirectory(
      at: URL(fileURLWithPath: directory), includingPropertiesForKeys: nil
    ).filter { $0.lastPathComponent.hasSuffix("_spec_test.json") }
      .sorted { $0.lastPathComponent < $1.lastPathComponent }
    var (found, count) = (0, 0)
    for file in files {
      var tally = Tally()
      for scenario in try Scenario.all(in: file) {
        found += 1
        run(scenario, mode, connection, &tally)
      }
      count += tally.passed + tally.failures.count + tally.excludedPassed + tally.excludedFailures.count
      let reasons = tally.skipped.sorted { $0.key < $1.key }.map { ", \($1) \($0)" }.joined()
      let skipped = tally.skipped.values.reduce(0, +)
      print(
        "\(file.lastPathComponent) (\(mode.rawValue), \(connection.rawValue)): \(tally.passed) passed, \(tally.failures.count) failed, "
          + "\(skipped) skipped\(reasons)\(excluded(tally))")
      for failure in tally.failures {
        Issue.record("\(file.lastPathComponent) (\(mode.rawValue), \(connection.rawValue)): \(failure)")
      }
    }
    #expect(found > 0, "\(directory) has no scenarios")
    return (Set(files.map(\.lastPathComponent)), count)
  }

  /// Formats the results of excluded scenarios. Returns an empty text if there are none.
  private func excluded(_ tally: Tally) -> String {
    let failures = tally.excludedFailures
    guard tally.excludedPassed + failures.count > 0 else { return "" }
    let lines = failures.map { "\n  excludes clients of this kind, and fails: \($0)" }.joined()
    return "; of \(tally.excludedPassed + failures.count) that exclude clients of this kind, "
      + "\(tally.excludedPassed) passed nevertheless\(lines)"
  }

  private func run(
    _ scenario: Scenario, _ mode: Scenario.Mode, _ connection: Scenario.Connection, _ tally: inout Tally
  ) {
    if let reason = scenario.reasonToSkip(mode) {
      tally.skipped[reason, default: 0] += 1
      return
    }
    do {
      try ScenarioRun.run(scenario, mode, connection)
      if scenario.excludesThisKind { tally.excludedPassed += 1 } else { tally.passed += 1 }
    } catch {
      let failure = "\(scenario.name): \(error)"
      if scenario.excludesThisKind {
        tally.excludedFailures.append(failure)
      } else {
        tally.failures.append(failure)
      }
    }
  }

  /// A scenario that no client passes, with and without the tag that excludes clients of this kind.
  @Test func scenariosThatExcludeThisClientKindAreListedSeparately() throws {
    let steps = #"[{"watchAck": [2], "expectedSnapshotsInSyncEvents": 7}]"#
    func tally(_ tags: String) throws -> Tally {
      var tally = Tally()
      run(try scenario("impossible", steps, tags: tags), .memory, .direct, &tally)
      return tally
    }
    let excluded = try tally(#"["no-ios", "no-android"]"#)
    #expect(excluded.failures.isEmpty && excluded.excludedFailures.count == 1 && excluded.passed == 0)
    #expect(self.excluded(excluded).contains("excludes clients of this kind, and fails: impossible"))
    let required = try tally(#"["no-web"]"#)
    #expect(required.failures.count == 1 && required.excludedFailures.isEmpty)
    #expect(self.excluded(required) == "")
  }

  private func scenario(_ name: String, _ steps: String, tags: String = "[]") throws -> Scenario {
    let text = #"{"tags": \#(tags), "config": {"numClients": 1}, "steps": \#(steps)}"#
    return Scenario(name, try JSONDecoder().decode(JSON.self, from: Data(text.utf8)))
  }

  /// A scenario that passes, and that fails as soon as one of its expectations is wrong.
  @Test(arguments: [Scenario.Connection.direct, .webChannel])
  func aWrongExpectationFails(_ connection: Scenario.Connection) throws {
    let query = #"{"path": "collection", "filters": [], "orderBys": []}"#
    let steps = #"""
      [
        {"userListen": {"targetId": 2, "query": \#(query)},
         "expectedState": {"activeTargets": {"2": {"queries": [\#(query)], "resumeToken": ""}}}},
        {"watchAck": [2]},
        {"watchCurrent": [[2], "first"]},
        {"watchSnapshot": {"version": 1000, "targetIds": []},
         "expectedSnapshotEvents": [{"query": \#(query), "fromCache": false}]},
        {"userSet": ["other/a", {"v": 1}],
         "expectedState": {"numOutstandingWrites": 1, "writeStreamRequestCount": 2}},
        {"writeAck": {"version": 1001}, "expectedState": {"userCallbacks": {"acknowledgedDocs": ["other/a"]}}},
        {"enableNetwork": false, "expectedSnapshotEvents": [{"query": \#(query), "fromCache": true}]},
        {"enableNetwork": true, "expectedState": {"watchStreamRequestCount": 2, "activeTargets": {"2":
          {"queries": [\#(query)], "resumeToken": "first", "expectedCount": 0, "targetPurpose": ""}}}}
      ]
      """#
    try ScenarioRun.run(try scenario("right", steps), .memory, connection)
    let replacements = [
      (#""resumeToken": "first""#, #""resumeToken": "second""#),
      (#""expectedCount": 0"#, #""expectedCount": 1"#),
      (#""targetPurpose": """#, #""targetPurpose": "TargetPurposeLimboResolution""#),
      (#""activeTargets": {"2":"#, #""activeTargets": {"4":"#),
      (#""watchStreamRequestCount": 2"#, #""watchStreamRequestCount": 3"#),
      (#""writeStreamRequestCount": 2"#, #""writeStreamRequestCount": 1"#),
      (#""numOutstandingWrites": 1"#, #""numOutstandingWrites": 2"#), (#"["other/a"]"#, #"["other/b"]"#),
      (#"{"watchAck": [2]}"#, #"{"watchRemove": {"targetIds": [4], "cause": {"code": 7}}}"#),
      (#""version": 1001"#, #""keepInQueue": true}}, {"writeAck": {"version": 1001"#),
    ]
    for (right, wrong) in replacements {
      let changed = steps.replacingOccurrences(of: right, with: wrong)
      #expect(throws: ScenarioFailure.self, "\(wrong)") {
        try ScenarioRun.run(try scenario("wrong", changed), .memory, connection)
      }
    }
  }
}
