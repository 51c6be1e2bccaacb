// Kills `dugout serve` under load from real clients, and verifies its store and its listeners.
//
//   1. The program starts, and its clients connect. Sometimes it is killed while it starts.
//   2. The documents are compared with what each client knows, and the listeners with the documents.
//   3. The clients write for a random time. The program is killed, and the next round begins.
//
// In every tenth round, the program is asked to end, and must end well.

import Foundation

#if Server
import DocumentStore
import FirestoreWire
import Harness
import ServerHarness
#endif

enum ServeCampaign: Campaign {
  static let name = "serve"
  static let summary =
    "kills `dugout serve` under load from clients, and looks for all acknowledged writes and at all listeners"
  static let amount = (option: "--kills", standard: Optional(500))
  static let textOptions = ["--program"]

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    #if Server
    guard let program = ServedProgram.program(options) else {
      complain("SKIPPED: no server is killed, because there is no program `dugout` (--program PATH)")
      return CampaignResult(run: 0, failed: 0)
    }
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-serve-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var rounds = try ServeRounds(program: program, folder: folder, seed: options.seed)
    return try await rounds.run(options.amount ?? 5000)
    #else
    complain("SKIPPED: no server is killed, because this program was built without --traits Server,TLS")
    return CampaignResult(run: 0, failed: 0)
    #endif
  }
}
