// A store of bytes in a process of its own, struck down from outside at any time: between two instructions, while
// jobs in the background flush, prepare logs and vouch for what was written.

import Foundation
import Harness

struct StoreRandomKills {
  struct Summary {
    var rounds = 0
    /// Those that were still at work when they were struck.
    var struck = 0
    var failed = 0
    var commits = 0
    var firstFailure: String?
  }

  /// More than a process gets done before it is struck.
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
      let end = try strike(store, after: microseconds)
      summary.rounds += 1
      if end.wasKilled { summary.struck += 1 }
      guard let problem = store.problem(after: end, &summary.commits) else { continue }
      summary.failed += 1
      summary.firstFailure =
        summary.firstFailure ?? "\(problem.context), struck after \(microseconds) µs: \(problem.text)"
    }
    return summary
  }

  /// The time runs from the first commit that is acknowledged; before it there is little to lose.
  private static func strike(_ store: KilledStore, after microseconds: UInt32) throws -> KilledStore.End {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = store.workerArguments(commits: commitsMax) + [StoreKillWorker.background]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let file = output.fileHandleForReading
    var said = file.availableData
    usleep(microseconds)
    kill(process.processIdentifier, SIGKILL)
    said += file.readDataToEndOfFile()
    process.waitUntilExit()
    let wasKilled = process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
    return KilledStore.End(
      wasKilled: wasKilled, wasStruck: wasKilled, status: process.terminationStatus,
      words: String(decoding: said, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: true))
  }
}
