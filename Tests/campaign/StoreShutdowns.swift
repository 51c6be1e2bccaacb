// A byte store whose file system is shut down while a process writes to it (docs/reliability.md, T7).
//
// The kernel drops unsynced data, as in a power loss. Uses the workload and the invariants of `KilledStore`.

#if os(Linux)
import Foundation
import Harness

struct StoreShutdowns {
  struct Summary {
    var rounds: [LoopMount.Kind: Int] = [:]
    var failed = 0
    /// The rounds in which the process was still running.
    var interrupted = 0
    var commits = 0
    var firstFailure: String?
  }

  /// More commits than a process completes before the shutdown.
  private static let commitsMax = 500

  private let mount: LoopMount
  private var store: KilledStore
  private var random: SeededRandom
  private var summary = Summary()

  /// Runs the rounds on all kinds of file systems that can be mounted here. Prints a message about each kind
  /// that cannot be mounted.
  static func run(rounds: Int, seed: UInt64, in folder: URL) throws -> Summary {
    var summary = Summary()
    for kind in LoopMount.Kind.allCases {
      let mount: LoopMount
      do {
        mount = try LoopMount(kind, in: folder)
      } catch {
        complain(
          "SKIPPED: no \(kind.rawValue) file system is shut down: \(error) (needs root, a loop device "
            + "and the packages e2fsprogs and xfsprogs)")
        continue
      }
      defer { try? mount.unmount() }
      var campaign = StoreShutdowns(mount, seed: seed, summary)
      for round in 0..<rounds / LoopMount.Kind.allCases.count { try campaign.round(round) }
      summary = campaign.summary
    }
    return summary
  }

  private init(_ mount: LoopMount, seed: UInt64, _ summary: Summary) {
    self.mount = mount
    self.summary = summary
    store = KilledStore(path: mount.path + "/bytes", seed: seed)
    random = SeededRandom(seed: seed)
  }

  private mutating func round(_ round: Int) throws {
    store.renew(before: round)
    let commits = random.below(32)
    let microseconds = random.oneIn(4) ? 0 : random.below(3000)
    let end = try runWorker(shutDownAfter: commits, microseconds)
    try mount.unmount()
    try mount.mount()
    summary.rounds[mount.kind, default: 0] += 1
    if end.wasDisrupted { summary.interrupted += 1 }
    guard let problem = store.problem(after: end, &summary.commits) else { return }
    summary.failed += 1
    summary.firstFailure =
      summary.firstFailure
      ?? "\(problem.context), round \(round) on \(mount.kind.rawValue), shut down after \(commits) commits and "
      + "\(microseconds) µs: \(problem.text)"
  }

  private func runWorker(shutDownAfter commits: Int, _ microseconds: Int) throws -> KilledStore.End {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = store.workerArguments(commits: Self.commitsMax)
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    var printed = Data()
    var lines = 0
    while lines < commits {
      let part = output.fileHandleForReading.availableData
      guard !part.isEmpty else { break }
      printed += part
      lines += part.count { $0 == UInt8(ascii: "\n") }
    }
    usleep(UInt32(microseconds))
    let wasRunning = process.isRunning
    try mount.shutDown()
    printed += output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return KilledStore.End(
      wasKilled: false, wasDisrupted: wasRunning, status: process.terminationStatus,
      words: String(decoding: printed, as: UTF8.self).split(separator: "\n"))
  }
}
#endif
