// A byte store in a process that is killed at a random time, between any two instructions.
//
// Meanwhile background jobs flush, prepare logs and write watermarks.

import Foundation
import Harness

struct StoreRandomKills {
  struct Summary {
    var rounds = 0
    /// The processes that were still running when they were killed.
    var struck = 0
    var failed = 0
    var commits = 0
    var firstFailure: String?
  }

  /// More commits than a process completes before it is killed.
  private static let commitsMax = 4000
  private static let millisecondsMax: UInt32 = 250

  static func run(rounds: Int, seed: UInt64, in folder: URL) throws -> Summary {
    var summary = Summary()
    var random = SeededRandom(seed: seed)
    let path = folder.appendingPathComponent("struck").path
    var store = KilledStore(path: path, seed: SeededRandom.seed(seed, 9))
    for round in 0..<rounds {
      store.renew(before: round)
      let microseconds = UInt32(random.below(Int(millisecondsMax) * 1000))
      let end = try startAndKill(store, after: microseconds)
      summary.rounds += 1
      if end.wasKilled { summary.struck += 1 }
      guard let problem = store.problem(after: end, &summary.commits) else { continue }
      summary.failed += 1
      summary.firstFailure =
        summary.firstFailure ?? "\(problem.context), struck after \(microseconds) µs: \(problem.text)"
    }
    return summary
  }

  /// Starts a process and kills it after the delay. The delay starts with the first acknowledged commit,
  /// because before that commit there is little to lose.
  private static func startAndKill(_ store: KilledStore, after microseconds: UInt32) throws -> KilledStore.End
  {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = store.workerArguments(commits: commitsMax) + [StoreKillWorker.background]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let file = output.fileHandleForReading
    var printed = file.availableData
    usleep(microseconds)
    kill(process.processIdentifier, SIGKILL)
    printed += file.readDataToEndOfFile()
    process.waitUntilExit()
    let wasKilled = process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
    return KilledStore.End(
      wasKilled: wasKilled, wasDisrupted: wasKilled, status: process.terminationStatus,
      words: String(decoding: printed, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: true))
  }
}
