// Clients and a server on a simulated network that fails, delays and shortens (docs/testing.md).

#if Server
import Harness
#endif

enum Connections: Campaign {
  static let name = "connections"
  static let summary =
    "clients of HTTP/1.1, HTTP/2 and gRPC on a simulated network; each request must get its answer or none, each connection its end: --target N, history N alone"
  static let hasTargets = true
  static let amount = (option: "--histories", standard: Optional(20_000))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    #if Server
    let history = try options.target.map(Sync.historyNumber)
    let histories = options.amount ?? 1_000_000
    let progress = CampaignProgress(name, of: history == nil ? histories : 1)
    let summary = ConnectionCampaign.run(
      histories: histories, seed: options.seed, history: history, progress: progress.note)
    let unreached = options.target == nil ? summary.neverReached : []
    var result = CampaignResult(run: summary.histories, failed: summary.failed + unreached.count)
    result.details = summary.counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    result.details.append(("trace", Int(truncatingIfNeeded: summary.trace % 1_000_000_007)))
    result.firstFailure = summary.firstFailure ?? unreached.first.map { "no \($0) in any history" }
    return result
    #else
    complain(
      "SKIPPED: no connections are simulated, because this program was built without --traits Server,TLS")
    return CampaignResult(run: 0, failed: 0)
    #endif
  }
}
