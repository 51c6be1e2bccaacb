// A client comes back after a month, with many writes and to many changes.

import Foundation
import Harness

#if Server
import ServerHarness
#endif

enum CatchUp: Campaign {
  static let name = "catchup"
  static let summary =
    "a client comes back after a month: time, bytes and memory, by changes and by the whole answer"
  static let amount = (option: "--documents", standard: Optional(200_000))
  static let moreOptions = [
    (option: "--changes", standard: 100_000), (option: "--writes", standard: 10_000),
    (option: "--days", standard: 30), (option: "--rounds", standard: 1),
  ]

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    #if Server
    var plan = CatchUpPlan()
    plan.documents = options.amount ?? plan.documents
    plan.changes = options.more["--changes"] ?? plan.changes
    plan.writes = options.more["--writes"] ?? plan.writes
    plan.days = max(1, options.more["--days"] ?? plan.days)
    let rounds = max(1, options.more["--rounds"] ?? 1)
    return try await withCheckedThrowingContinuation { [plan] continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try run(plan, rounds: rounds, options) })
      }
    }
    #else
    complain("SKIPPED: \(name) needs --enable-all-traits")
    return CampaignResult(run: 0, failed: 0)
    #endif
  }

  #if Server
  private static func run(
    _ plan: CatchUpPlan, rounds: Int, _ options: CampaignOptions
  ) throws -> CampaignResult {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-catchup-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let run = CatchUpRun(plan, in: folder.path, client: CatchUpWorker.run)
    try run.prepare()
    var result = CampaignResult(run: 0, failed: 0)
    result.details = [
      ("documents", plan.documents), ("changes", plan.changes), ("writes", plan.writes), ("days", plan.days),
    ]
    for round in 0..<rounds {
      // The ways take turns, so that no way always runs on a warmer machine.
      for way in round.isMultiple(of: 2) ? CatchUpWay.allCases : CatchUpWay.allCases.reversed() {
        result.run += 1
        do {
          let outcome = try run.comeBack(way)
          options.printUnlessJSON(sentence(about: outcome))
          result.details += details(of: outcome, round: round)
        } catch {
          result.failed += 1
          result.firstFailure = result.firstFailure ?? "\(way.rawValue): \(error)"
        }
      }
    }
    return result
  }

  private static func sentence(about outcome: CatchUpRun.Outcome) -> String {
    let client = outcome.client
    return "\(outcome.way.rawValue): \(seconds(client.seconds)) s until \(client.documents) documents are "
      + "equal, processors \(seconds(client.processorSeconds)) s of the client and "
      + "\(seconds(outcome.serverProcessorSeconds)) s of the server, \(client.bytesReceived) bytes "
      + "received and \(client.bytesSent) sent, peaks of memory \(client.peakBytes >> 20) MiB and "
      + "\(outcome.serverPeakBytes >> 20) MiB"
  }

  private static func seconds(_ seconds: Double) -> String { String(format: "%.2f", seconds) }

  private static func details(
    of outcome: CatchUpRun.Outcome, round: Int
  ) -> [(name: String, value: Int)] {
    let client = outcome.client
    return [
      ("milliseconds", Int(client.seconds * 1000)),
      ("clientProcessorMilliseconds", Int(client.processorSeconds * 1000)),
      ("serverProcessorMilliseconds", Int(outcome.serverProcessorSeconds * 1000)),
      ("bytesReceived", client.bytesReceived), ("bytesSent", client.bytesSent),
      ("clientPeakBytes", client.peakBytes), ("serverPeakBytes", outcome.serverPeakBytes),
    ].map { ("\(outcome.way.rawValue).\(round).\($0.0)", $0.1) }
  }
  #endif
}
