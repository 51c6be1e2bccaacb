// Crash tests of the object store: no acknowledged object is lost and no content leaks (docs/reliability.md,
// C6).
//
// A second part tests a client and an object server with a faulty connection between them. The client and the
// server must agree at the end.

import Harness

enum Blobs: Campaign {
  static let name = "blobs"
  static let summary =
    "uploads, deletes and sweeps objects on a disk that fails, and looks for lost and leaked ones"
  static let amount = (option: "--states", standard: Optional(20_000))

  /// The number of crash states for each history with a remote.
  private static let statesPerHistory = 50
  /// The minimum number of histories after which every kind of event must have occurred.
  private static let historiesMin = 40

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let states = options.amount ?? 1_000_000
    let summary = BlobCampaign.run(states: states, seed: options.seed)
    let remote = BlobRemoteCampaign.run(
      histories: max(historiesMin, states / statesPerHistory), seed: options.seed)
    let unreached = summary.neverReached + remote.neverReached.map { "\($0.rawValue) with a remote" }
    var result = CampaignResult(
      run: summary.states, failed: summary.failures + remote.failures + unreached.count)
    result.details =
      summary.steps.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
      + summary.reached.sorted { $0.key.rawValue < $1.key.rawValue }.map {
        ("crashes before " + $0.key.rawValue, $0.value)
      }
    result.details.append(("historiesWithRemote", remote.histories))
    for kind in BlobRemoteCampaign.Kind.allCases {
      result.details.append(("remote: " + kind.rawValue, remote.counts[kind, default: 0]))
    }
    result.firstFailure =
      summary.firstFailure ?? remote.firstFailure ?? unreached.first.map { "no \($0) in any workload" }
    return result
  }
}
