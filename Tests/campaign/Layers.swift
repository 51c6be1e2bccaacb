// Compares random histories of links, counters and transactions in the Pring layer with a model.
//
// The histories have several clients of one authority, and processes that are killed with pending writes.

import Foundation
import Harness
import LayerHarness

enum Layers: Campaign {
  static let name = "layers"
  static let summary =
    "links, counters and transactions through the layers: several clients, offline periods, killed processes"
  static let amount = (option: "--histories", standard: Optional(40))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "dugout-layers-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    var result = CampaignResult(run: 0, failed: 0)
    var counts: [String: Int] = [:]
    let histories = options.amount ?? 1000
    let progress = CampaignProgress("\(name), histories", of: histories)
    for number in 0..<histories where result.failed == 0 {
      let history = LayerHistory(
        seed: SeededRandom.seed(options.seed, UInt64(number)),
        folder: folder.appendingPathComponent("\(number)"))
      let summary = try await history.run()
      try? FileManager.default.removeItem(at: history.folder)
      counts.merge(summary.counts) { $0 + $1 }
      result.run += 1
      progress.note(result.run)
      guard let failure = summary.failure else { continue }
      result.failed += 1
      result.firstFailure = "seed \(options.seed), history \(number): \(failure)"
    }
    let names =
      LayerStep.names + [
        "offline", "stepsOffline", "online", "reopened", "transactionsGivenUp", "transactionsUnanswered",
        "contendedLinks",
      ]
    result.details = names.map { ($0, counts[$0, default: 0]) }
    for hasRemote in [false, true] {
      let name = hasRemote ? "WithRemote" : ""
      var kills = LayerKills(
        seed: options.seed, in: folder.appendingPathComponent("kills\(name)"), hasRemote: hasRemote)
      while kills.rounds < max(5, histories / 4), kills.failure == nil { try await kills.round() }
      result.run += kills.rounds
      if let failure = kills.failure {
        result.failed += 1
        result.firstFailure = result.firstFailure ?? "seed \(options.seed), \(failure)"
      }
      result.details += [
        ("kills\(name)", kills.rounds), ("stepsBeforeKills\(name)", kills.stepsDone),
        ("stepsUnderWayFound\(name)", kills.stepsInProgressFound),
      ]
    }
    // A run of this size must reach every kind of event. If it does not, the campaign has become too weak.
    if histories >= 40, let unmet = result.details.first(where: { $0.value == 0 }) {
      result.failed += 1
      result.firstFailure = result.firstFailure ?? "no \(unmet.name) in any history"
    }
    return result
  }
}
