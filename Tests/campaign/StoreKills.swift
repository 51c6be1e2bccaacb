// A byte store in a process that dies, or gets an error, at a chosen system call (docs/reliability.md, T7).
//
// The calls are writes, syncs, renames and removals. strace injects the kill or the error into the
// system's own calls; nothing is simulated.

import Foundation
import Harness

struct StoreKills {
  enum Injection: Hashable {
    case kill(Call)
    case fail(Call, Errno)

    /// Returns the argument for strace. strace injects at the n-th call; if `isSticky`, it also injects at
    /// all later calls.
    func injection(at number: Int, isSticky: Bool) -> String {
      let when = "when=\(number)\(isSticky ? "+" : "")"
      switch self {
      case .kill(let call): return "inject=\(call.rawValue):signal=SIGKILL:\(when)"
      case .fail(let call, let error): return "inject=\(call.rawValue):error=\(error.rawValue):\(when)"
      }
    }

    var call: Call {
      switch self {
      case .kill(let call), .fail(let call, _): call
      }
    }
  }

  enum Call: String, CaseIterable {
    case pwrite64, fdatasync, fsync, renameat, unlinkat

    /// The approximate number of these calls in a worker.
    var countMax: Int {
      switch self {
      case .pwrite64: 110
      case .fdatasync: 90
      case .fsync: 40
      case .renameat: 16
      case .unlinkat: 24
      }
    }
  }

  enum Errno: String, CaseIterable {
    case inputOutput = "EIO"
    case noSpace = "ENOSPC"
  }

  struct Summary {
    var rounds = 0
    var failed = 0
    /// The number of rounds in which each injection took effect.
    var injections: [Injection: Int] = [:]
    var outcomesUnknown = 0
    var commits = 0
    var firstFailure: String?
  }

  private let strace: String
  private let folder: URL
  private var random: SeededRandom
  private var store: KilledStore
  private var summary = Summary()

  /// Prints a message and returns nil if there is no strace.
  static func run(kills: Int, failures: Int, seed: UInt64, in folder: URL) throws -> Summary? {
    guard let strace = ["/usr/bin/strace", "/bin/strace"].first(where: FileManager.default.isExecutableFile)
    else {
      complain(
        "SKIPPED: no strace here, so that no process is killed at a chosen system call (apt-get install strace)"
      )
      return nil
    }
    var campaign = StoreKills(strace: strace, folder: folder, seed: seed)
    for round in 0..<kills + failures {
      try campaign.round(round, isKill: round < kills)
    }
    return campaign.summary
  }

  private init(strace: String, folder: URL, seed: UInt64) {
    self.strace = strace
    self.folder = folder
    store = KilledStore(path: folder.appendingPathComponent("bytes").path, seed: seed)
    random = SeededRandom(seed: seed)
  }

  // MARK: A round

  private mutating func round(_ round: Int, isKill: Bool) throws {
    store.renew(before: round)
    let call = Call.allCases[round % Call.allCases.count]
    let fault =
      isKill ? Injection.kill(call) : .fail(call, Errno.allCases[random.below(Errno.allCases.count)])
    let number = 1 + random.below(call.countMax)
    let injection = fault.injection(at: number, isSticky: !isKill && random.oneIn(3))
    summary.rounds += 1
    let end = try runWorker(injection, call)
    if end.words.contains(StoreKillWorker.unknown) { summary.outcomesUnknown += 1 }
    if end.wasDisrupted { summary.injections[fault, default: 0] += 1 }
    guard let problem = store.problem(after: end, &summary.commits) else { return }
    summary.failed += 1
    summary.firstFailure =
      summary.firstFailure ?? "\(problem.context), round \(round), \(injection): \(problem.text)"
  }

  private func runWorker(_ injection: String, _ call: Call) throws -> KilledStore.End {
    let trace = folder.appendingPathComponent("trace").path
    let process = Process()
    process.executableURL = URL(fileURLWithPath: strace)
    process.arguments =
      [
        "-f", "-qq", "-o", trace, "-e", "trace=\(call.rawValue)", "-e", injection,
        Bundle.main.executablePath ?? "campaign",
      ] + store.workerArguments(commits: 30)
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let printed = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let calls = try String(contentsOfFile: trace, encoding: .utf8)
    let wasKilled = process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
    return KilledStore.End(
      wasKilled: wasKilled, wasDisrupted: wasKilled || calls.contains("(INJECTED)"),
      status: process.terminationStatus,
      words: String(decoding: printed, as: UTF8.self).split(separator: "\n"))
  }
}

/// The commits of a store; a commit's number determines its contents.
enum StoreKillScript {
  static func operations(of number: Int, seed: UInt64) -> [(key: [UInt8], value: [UInt8]?)] {
    var random = SeededRandom(seed: SeededRandom.seed(seed, UInt64(number)))
    return (0..<1 + random.below(4)).map { _ in
      let key = Array("key\(random.below(40))".utf8)
      if random.oneIn(4) { return (key, nil) }
      return (key, random.bytes([20, 300, 300, 2000, 6000, 20_000][random.below(6)]))
    }
  }

  static func contents(after number: Int, seed: UInt64) -> [[UInt8]: [UInt8]] {
    var contents: [[UInt8]: [UInt8]] = [:]
    for commit in stride(from: 1, through: number, by: 1) {
      for (key, value) in operations(of: commit, seed: seed) { contents[key] = value }
    }
    return contents
  }
}
