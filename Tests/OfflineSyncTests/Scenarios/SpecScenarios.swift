// Sync scenarios: our own, and the files in a directory that FIRESTORE_SPEC_DIR names.

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
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Fixtures/Scenarios")
    try runAll(in: folder.path, mode)
  }

  @Test(arguments: Scenario.Mode.allCases)
  func everyRunnableScenarioPasses(_ mode: Scenario.Mode) throws {
    guard let directory = ProcessInfo.processInfo.environment["FIRESTORE_SPEC_DIR"] else {
      print("SKIPPED: no scenarios of synchronisation were run: FIRESTORE_SPEC_DIR names no directory.")
      return
    }
    let (names, count) = try runAll(in: directory, mode)
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
    in directory: String, _ mode: Scenario.Mode
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
        run(scenario, mode, &tally)
      }
      count += tally.passed + tally.failures.count + tally.excludedPassed + tally.excludedFailures.count
      let reasons = tally.skipped.sorted { $0.key < $1.key }.map { ", \($1) \($0)" }.joined()
      let skipped = tally.skipped.values.reduce(0, +)
      print(
        "\(file.lastPathComponent) (\(mode.rawValue)): \(tally.passed) passed, \(tally.failures.count) failed, "
          + "\(skipped) skipped\(reasons)\(excluded(tally))")
      for failure in tally.failures {
        Issue.record("\(file.lastPathComponent) (\(mode.rawValue)): \(failure)")
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

  private func run(_ scenario: Scenario, _ mode: Scenario.Mode, _ tally: inout Tally) {
    if let reason = scenario.reasonToSkip(mode) {
      tally.skipped[reason, default: 0] += 1
      return
    }
    do {
      try ScenarioRun.run(scenario, mode)
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
      let text = #"{"tags": \#(tags), "config": {"numClients": 1}, "steps": \#(steps)}"#
      var tally = Tally()
      run(Scenario("impossible", try JSONDecoder().decode(JSON.self, from: Data(text.utf8))), .memory, &tally)
      return tally
    }
    let excluded = try tally(#"["no-ios", "no-android"]"#)
    #expect(excluded.failures.isEmpty && excluded.excludedFailures.count == 1 && excluded.passed == 0)
    #expect(self.excluded(excluded).contains("excludes clients of this kind, and fails: impossible"))
    let required = try tally(#"["no-web"]"#)
    #expect(required.failures.count == 1 && required.excludedFailures.isEmpty)
    #expect(self.excluded(required) == "")
  }
}
