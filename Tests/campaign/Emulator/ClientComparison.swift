// Runs one program of an app against a server of this process and against Firestore's emulator. The results
// must be the same.

import Authority
import Foundation
import Harness

#if Server
import DocumentStore
import ServerHarness
#endif

enum ClientComparison: Campaign {
  static let name = "clients"
  static let summary =
    "runs a program of an app against our server and against Firestore's emulator, and compares the results"
  static let amount = (option: "--rounds", standard: Optional(1))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    #if Server
    let emulator: EmulatorProcess
    switch await EmulatorProcess.start() {
    case .success(let started): emulator = started
    case .failure(let absence):
      complain("SKIPPED: no client is compared with Firestore's emulator, because \(absence)")
      return CampaignResult(run: 0, failed: 0)
    }
    defer { emulator.stop() }
    var result = CampaignResult(run: 0, failed: 0)
    for _ in 0..<(options.amount ?? 3) {
      let steps = try await compare(with: emulator.address)
      result.run += steps.count
      for step in steps where step.ours != step.emulators {
        result.failed += 1
        let text = difference(step)
        complain(text)
        result.firstFailure = result.firstFailure ?? text
      }
    }
    return result
    #else
    complain("SKIPPED: \(name) needs --enable-all-traits")
    return CampaignResult(run: 0, failed: 0)
    #endif
  }

  #if Server
  private struct ComparedStep {
    var name: String
    var ours: [String]
    var emulators: [String]
  }

  private static func compare(with emulator: String) async throws -> [ComparedStep] {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-clients-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    // The emulator keeps the documents of earlier runs, each in its project.
    let theirs = try await steps(
      at: emulator, project: "demo-\(UUID().uuidString.prefix(8).lowercased())",
      in: folder.appendingPathComponent("emulator"))
    let server = try LiveServer(
      try DocumentStore.open(folder.appendingPathComponent("served").path), rules: .init())
    let ours = try await steps(
      at: "127.0.0.1:\(server.port)", project: LiveServer.project, in: folder.appendingPathComponent("ours"))
    try server.stop()
    return zip(ours, theirs).map {
      ComparedStep(name: $0.name, ours: $0.lines, emulators: $1.lines)
    }
  }

  private static func steps(
    at address: String, project: String, in folder: URL
  ) async throws -> [ClientProgram.Step] {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let program = try ClientProgram(address, project: project, in: folder)
    await program.run()
    try await program.close()
    return program.steps
  }

  private static func difference(_ step: ComparedStep) -> String {
    "\(step.name)\n  ours:\n    \(step.ours.joined(separator: "\n    "))\n  the emulator's:\n    "
      + step.emulators.joined(separator: "\n    ")
  }
  #endif
}
