// Runs a check after every kind of crash. A check must not report the state after a crash as damage
// (docs/reliability.md, P8).
//
// Workloads, crashes and faults are those of the crash campaign. For each resulting state, the check must
// find nothing and change nothing. The number of keys that it counts must match a state that an open may
// show.

internal import ByteStore
internal import StoreTools

package struct CheckCampaign {
  package struct Summary: Sendable, CustomStringConvertible {
    package var states = 0
    package var failures = 0
    package var firstFailure: String?

    package var description: String {
      "\(states) states checked, \(failures) failed" + (firstFailure.map { "\nfirst failure: \($0)" } ?? "")
    }
  }

  package static func run(states: Int, seed: UInt64) -> Summary {
    var summary = Summary()
    var round: UInt64 = 0
    while summary.states < states {
      round += 1
      let workload = Workload(seed: SeededRandom.seed(seed, round))
      var random = SeededRandom(seed: SeededRandom.seed(seed, round, 1))
      do throws(Finding) {
        try check(workload, &random, &summary)
      } catch {
        summary.failures += 1
        let text = "seed \(seed), workload \(round): \(error)"
        summary.firstFailure = summary.firstFailure ?? text
      }
    }
    return summary
  }

  private static func check(
    _ workload: Workload, _ random: inout SeededRandom, _ summary: inout Summary
  ) throws(Finding) {
    let scenario = Scenario(
      logBytes: workload.logBytes, flushBytes: workload.flushBytes,
      shortensTransfers: workload.shortensTransfers, legs: [])
    var leg = Scenario.Leg(
      steps: workload.steps, crashAt: .max, crash: .kill, seed: random.next())
    if random.oneIn(3) {
      let fault = DiskFault.allCases[random.below(DiskFault.allCases.count)]
      leg.fault = FaultPlan(fault, at: random.below(300), isSticky: random.oneIn(3))
    }
    var life = Life(on: DiskImage(), Oracle(), scenario.plan(leg, Setting()))
    try life.run()
    for _ in 0..<20 {
      let operation = random.below(life.disk.history.count + 1)
      let survivors = Survivors.allCases[random.below(Survivors.allCases.count)]
      let crash = random.oneIn(4) ? Crash.kill : .powerLoss(survivors, seed: random.next())
      summary.states += 1
      let expected = life.oracle.expectation(at: operation, after: crash)
      try check(life.image(before: operation).after(crash), expected, crash, operation, random.next())
    }
  }

  private static func check(
    _ image: DiskImage, _ expected: Oracle.Expectation, _ crash: Crash, _ operation: Int, _ seed: UInt64
  ) throws(Finding) {
    let disk = SimulatedDisk(image)
    let what = "\(crash) before call \(operation)"
    let report: CheckReport
    do throws(ByteStoreError) {
      report = try ByteStore.check(Life.path, platform: disk.platform(seed: seed))
    } catch {
      // Before the first manifest there is no store.
      if case .noStore = error, expected.required == 0 { return }
      throw Finding(.falseAlarm, "\(what): \(error)")
    }
    guard report.isSound else { throw Finding(.falseAlarm, "\(what): \(report.findings)") }
    let last = Int(report.lastCommit.value)
    guard (expected.required..<expected.points.count).contains(last) else {
      throw Finding(.wrongReport, "\(what): commit \(last) of \(expected.required) or more")
    }
    guard report.keys == expected.points[last].contents.count else {
      throw Finding(.wrongReport, "\(what): \(report.keys) keys")
    }
  }
}
