// Checks counters of records while clients go offline and processes are killed (docs/streambasekit.md).

import Foundation
import Harness
import StreamHarness

enum Counters: Campaign {
  static let name = "counters"
  static let summary =
    "kills processes that create and destroy counted records, on- and offline, and counts them again"
  static let amount = (option: "--rounds", standard: Optional(100))

  /// The number of processes that use one folder in turn.
  private static let roundsPerFolder = 5

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "dugout-counters-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    var random = SeededRandom(seed: options.seed)
    var result = CampaignResult(run: 0, failed: 0)
    var (records, high, refused) = (0, 0, 0)
    let rounds = options.amount ?? 2_000
    let progress = CampaignProgress(name, of: rounds)
    for round in 0..<rounds {
      let hasRemote = round / roundsPerFolder % 2 == 0
      let place = folder.appendingPathComponent("\(round / roundsPerFolder)")
      try CounterWorker.startAndKill(
        after: 20_000 + random.below(400_000), in: place, hasRemote, seed: random.next())
      let outcome = try await CounterCampaign.recount(in: place, hasRemote: hasRemote)
      result.run += 1
      progress.note(result.run)
      records += outcome.records
      high += outcome.high
      refused += outcome.refused
      guard let problem = outcome.problem else { continue }
      result.failed += 1
      result.firstFailure = result.firstFailure ?? "round \(round): \(problem)"
    }
    result.details = [("recordsCounted", records), ("recordsHigh", high), ("batchesRefused", refused)]
    // The first folder has a remote, so its rounds must have exercised every kind of event.
    if result.run >= roundsPerFolder, result.failed == 0, high == 0 || high == records || refused == 0 {
      result.failed = 1
      result.firstFailure = "not everything has happened: see the numbers"
    }
    return result
  }
}

/// The process that is killed.
enum CounterWorker {
  static let word = "counter-worker"
  private static let ready = "ready"

  static func startAndKill(after microseconds: Int, in folder: URL, _ hasRemote: Bool, seed: UInt64) throws {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = [word, folder.path, "\(hasRemote)", "\(seed)"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let printed = output.fileHandleForReading.availableData
    usleep(UInt32(microseconds))
    let wasRunning = process.isRunning
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    guard wasRunning, String(decoding: printed, as: UTF8.self).hasPrefix(ready) else {
      throw WorkerFailure(status: process.terminationStatus)
    }
  }

  struct WorkerFailure: Error, CustomStringConvertible {
    var status: Int32
    var description: String { "the process ended with status \(status) before it was killed" }
  }

  static func main(_ words: [String]) async -> Never {
    guard words.count == 3, let seed = UInt64(words[2]) else { exit(2) }
    do {
      try await CounterCampaign.live(
        in: URL(fileURLWithPath: words[0]), hasRemote: words[1] == "true", operations: nil, seed: seed
      ) {
        printLine(ready)
      }
    } catch {
      complain("\(word): \(error)")
    }
    exit(1)
  }
}
