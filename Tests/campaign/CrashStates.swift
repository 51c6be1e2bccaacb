// Injects every crash and every fault on a simulated disk (docs/reliability.md, T2 and T3).

import ByteStore
import Harness

enum CrashStates: Campaign {
  static let name = "crash"
  static let summary =
    "crashes and faults at every call of a simulated disk, against a dictionary, and of a client's queue, against the answers: --target N, workload N alone; --target queue, the queue alone"
  static let amount = (option: "--states", standard: Optional(100_000))
  static let hasTargets = true

  /// For this many states of a byte store, the campaign also tests one state of a client's write queue.
  private static let statesPerQueueState = 20
  private static let queue = "queue"

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let states = options.amount ?? 1_000_000
    if options.target == queue { return result(ofQueue: states, options) }
    var result = try bytes(states, options)
    guard options.target == nil else { return result }
    let ofQueue = self.result(ofQueue: max(1, states / statesPerQueueState), options)
    result.run += ofQueue.run
    result.failed += ofQueue.failed
    result.details += ofQueue.details
    result.firstFailure = result.firstFailure ?? ofQueue.firstFailure
    return result
  }

  private static func result(ofQueue states: Int, _ options: CampaignOptions) -> CampaignResult {
    let summary = QueueCrashes.run(states: states, seed: options.seed)
    let unreached = summary.neverReached
    var result = CampaignResult(run: summary.states, failed: summary.failed + unreached.count)
    result.details = [("queueStates", summary.states), ("queueHistories", summary.histories)]
    result.details += QueueCrashes.Kind.allCases.map {
      ("queue.\($0.rawValue)", summary.counts[$0, default: 0])
    }
    result.firstFailure =
      summary.firstFailure.map { "the queue, \($0)" }
      ?? unreached.first.map { "no \($0.rawValue) in any history of a queue" }
    return result
  }

  private static func bytes(_ states: Int, _ options: CampaignOptions) throws -> CampaignResult {
    if let target = options.target, Int(target) == nil { throw NoTarget(target: target) }
    let progress = CampaignProgress("\(name), stores", of: states)
    let summary = CrashCampaign.run(
      states: states, seed: options.seed, commitsWaiting: { $0.commitsWaiting },
      workload: options.target.flatMap { Int($0) }, progress: progress.note)
    options.printUnlessJSON("\(summary)")
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

  private struct NoTarget: Error, CustomStringConvertible {
    var target: String
    var description: String {
      "--target takes the number of a workload, from 0 on, or \(CrashStates.queue), and not \(target)"
    }
  }
}
