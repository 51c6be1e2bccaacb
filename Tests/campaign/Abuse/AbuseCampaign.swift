// Attacks `dugout serve` in all ways that are known, and measures its other clients.

import Foundation

#if Server
import ServerHarness
#endif

enum AbuseCampaign: Campaign {
  static let name = "abuse"
  static let summary =
    "attacks `dugout serve` in all known ways, and measures how long its other clients wait"
  static let amount = (option: "--seconds", standard: Optional(300))
  static let hasTargets = true
  static let textOptions = ["--program"]

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    #if Server
    guard let program = ServedProgram.program(options) else {
      complain("SKIPPED: no server is attacked, because there is no program `dugout` (--program PATH)")
      return CampaignResult(run: 0, failed: 0)
    }
    let kinds = options.target.map { AttackKind(rawValue: $0).map { [$0] } ?? [] } ?? AttackKind.allCases
    guard !kinds.isEmpty else {
      complain("the kinds of attacks are \(AttackKind.allCases.map(\.rawValue).joined(separator: ", "))")
      exit(2)
    }
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-abuse-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var servers = AbusedServers(program: program, folder: folder, options, kinds)
    return try await servers.run(Double(options.amount ?? 3600))
    #else
    complain("SKIPPED: no server is attacked, because this program was built without --traits Server,TLS")
    return CampaignResult(run: 0, failed: 0)
    #endif
  }
}
