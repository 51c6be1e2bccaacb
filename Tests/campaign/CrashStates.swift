// Every crash and every fault on a simulated disk (docs/reliability.md, T2 and T3).

import ByteStore
import Harness

enum CrashStates: Campaign {
  static let name = "crash"
  static let summary =
    "crashes and faults at every call of a simulated disk, against a dictionary: --target N, workload N alone"
  static let amount = (option: "--states", standard: Optional(100_000))
  static let hasTargets = true

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let states = options.amount ?? 1_000_000
    let summary = CrashCampaign.run(
      states: states, seed: options.seed, commitsWaiting: { $0.commitsWaiting },
      workload: options.target.flatMap { Int($0) })
    options.tell("\(summary)")
    let unreached = options.target == nil ? summary.neverReached : []
    var result = CampaignResult(
      run: summary.states, failed: summary.findings.values.reduce(0, +) + unreached.count)
    result.details = [
      ("workloads", summary.workloads), ("lostAcknowledgedCommits", summary.lostCommits),
      ("resurrectedOrUnknownCommits", summary.ghosts), ("tornBatches", summary.tornBatches),
      ("falseAlarms", summary.falseAlarms), ("kindsNeverReached", unreached.count),
    ]
    result.details += summary.crashes.map { ("crashesBefore.\($0.key.rawValue)", $0.value) }
      .sorted { $0.0 < $1.0 }
    result.details += summary.faults.map { point, count in
      ("faults.\(point.fault.rawValue).\(point.operation.rawValue)", count)
    }
    .sorted { $0.0 < $1.0 }
    result.firstFailure = summary.firstFailure.map { "\($0)" } ?? unreached.first
    return result
  }
}
