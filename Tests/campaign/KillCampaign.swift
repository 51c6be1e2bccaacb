// Kills real processes when a write is acknowledged, and verifies their stores.
//
// In each round a new process opens the store, saves one document through the topmost layer and dies in the
// completion. Then this process opens the store and verifies the documents of all rounds. Further parts start
// processes that write to a byte store. They kill these processes at a random time (StoreRandomKills.swift)
// or at chosen system calls (StoreKills.swift), or shut down the file system under them
// (StoreShutdowns.swift).

import DocumentStore
import FirebaseCore
import FirebaseFirestore
import Foundation

enum KillCampaign: Campaign {
  static let name = "kill"
  static let summary =
    "kills processes and file systems after acknowledged writes and at system calls, and looks for all commits"
  static let amount = (option: "--rounds", standard: Optional(500))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-kill-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    FirebaseApp.configure(options: FirebaseOptions(directory: folder))
    let directory = Firestore.firestore().storeDirectory
    var result = CampaignResult(run: 0, failed: 0)
    var lost = 0
    let rounds = options.amount ?? 500
    let progress = CampaignProgress("\(name), workers", of: rounds)
    for round in 0..<rounds {
      try runWorker(folder, round: round, seed: options.seed)
      result.run += 1
      progress.note(result.run)
      let missing = try missingDocuments(in: directory, upTo: round, seed: options.seed)
      guard !missing.isEmpty else { continue }
      result.failed += 1
      lost += missing.count
      result.firstFailure =
        result.firstFailure ?? "after round \(round) document \(missing[0]) differs from its saved state"
    }
    result.details = [("acknowledgedDocumentsLost", lost)]
    try killAtRandomTimes(options, in: folder, &result)
    try killAtCalls(options, in: folder, &result)
    #if os(Linux)
    try shutDownFileSystems(options, in: folder, &result)
    try fillDevices(options, &result)
    #endif
    return result
  }

  #if os(Linux)
  private static func shutDownFileSystems(
    _ options: CampaignOptions, in folder: URL, _ result: inout CampaignResult
  ) throws {
    let rounds = max(10, (options.amount ?? 500) / 10)
    let summary = try StoreShutdowns.run(rounds: rounds, seed: options.seed, in: folder)
    result.run += summary.rounds.values.reduce(0, +)
    result.failed += summary.failed
    result.firstFailure = result.firstFailure ?? summary.firstFailure
    for kind in LoopMount.Kind.allCases {
      result.details.append(("shutDown.\(kind.rawValue)", summary.rounds[kind, default: 0]))
    }
    result.details += [
      ("shutDownAtWork", summary.interrupted), ("commitsInFlightFoundAfterShutdown", summary.commits),
    ]
  }

  private static func fillDevices(_ options: CampaignOptions, _ result: inout CampaignResult) throws {
    let rounds = max(10, (options.amount ?? 500) / 50)
    guard let summary = try StoreFullDevices.run(rounds: rounds, seed: options.seed) else { return }
    result.run += summary.rounds
    result.failed += summary.failed
    result.firstFailure = result.firstFailure ?? summary.firstFailure
    result.details += [
      ("deviceFull", summary.roundsWithFailedCalls), ("deviceFullOutcomesUnknown", summary.outcomesUnknown),
      ("commitsInFlightFoundOnFullDevice", summary.commits),
    ]
  }
  #endif

  private static func killAtRandomTimes(
    _ options: CampaignOptions, in folder: URL, _ result: inout CampaignResult
  ) throws {
    let rounds = max(10, (options.amount ?? 500) / 5)
    let summary = try StoreRandomKills.run(rounds: rounds, seed: options.seed, in: folder)
    result.run += summary.rounds
    result.failed += summary.failed
    result.firstFailure = result.firstFailure ?? summary.firstFailure
    result.details += [
      ("struckAtAnyTime", summary.struck), ("commitsInFlightFoundAfterStrike", summary.commits),
    ]
  }

  private static func killAtCalls(_ options: CampaignOptions, in folder: URL, _ result: inout CampaignResult)
    throws
  {
    let rounds = max(10, (options.amount ?? 500) / 2)
    guard let summary = try StoreKills.run(kills: rounds, failures: rounds, seed: options.seed, in: folder)
    else {
      return
    }
    result.run += summary.rounds
    result.failed += summary.failed
    result.firstFailure = result.firstFailure ?? summary.firstFailure
    for call in StoreKills.Call.allCases {
      let failures = StoreKills.Errno.allCases.reduce(0) {
        $0 + summary.injections[.fail(call, $1), default: 0]
      }
      result.details += [
        ("killedAt.\(call.rawValue)", summary.injections[.kill(call), default: 0]),
        ("failedAt.\(call.rawValue)", failures),
      ]
    }
    result.details += [
      ("outcomesUnknown", summary.outcomesUnknown), ("commitsInFlightFound", summary.commits),
    ]
  }

  private static func runWorker(_ folder: URL, round: Int, seed: UInt64) throws {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = [KillWorker.word, folder.path, "\(round)", "\(seed)"]
    try process.run()
    process.waitUntilExit()
    guard process.terminationReason == .uncaughtSignal, process.terminationStatus == SIGKILL else {
      throw WorkerFailure(round: round, status: process.terminationStatus)
    }
  }

  struct WorkerFailure: Error, CustomStringConvertible {
    var round: Int
    var status: Int32

    var description: String {
      "the process of round \(round) ended with status \(status) instead of being killed"
    }
  }

  private static func missingDocuments(
    in directory: String, upTo round: Int, seed: UInt64
  ) throws -> [Int] {
    let store = try DocumentStore.open(directory)
    defer { try? store.close() }
    return try (0...round).filter { number in
      let document = try store.document(at: DocumentPath(["rounds", "\(number)"]))
      guard case .string(let text) = document?.fields["text"] else { return true }
      return text != KillWorker.text(round: number, seed: seed)
    }
  }
}
