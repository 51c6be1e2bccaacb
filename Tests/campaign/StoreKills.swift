// A store of bytes in a process of its own, which is killed at its n-th write, sync, rename or removal, or is
// told that one of them failed (docs/reliability.md, T7). strace does it: the system's own calls, not a
// simulation of them.
//
// Law: the store that opens afterwards holds the contents after some commit, and that is the last one that was
// acknowledged or the one behind it. After an outcome that is unknown, nothing is acknowledged any more.

import ByteStore
import Foundation
import Harness

struct StoreKills {
  enum Blow: Hashable {
    case kill(Call)
    case fail(Call, Errno)

    /// For strace, at the n-th call, or from there on.
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

    /// About how many of them a worker makes.
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
    /// Rounds in which the blow fell.
    var blows: [Blow: Int] = [:]
    var outcomesUnknown = 0
    var commits = 0
    var firstFailure: String?
  }

  /// A store gets so many blows before there is a new one.
  private static let roundsPerStore = 8

  private let strace: String
  private let folder: URL
  private var random: SeededRandom
  private var seed: UInt64
  private var summary = Summary()
  /// Of the store at hand.
  private var acknowledged = 0

  /// Nil, and a word about it, if there is no strace.
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
    self.seed = seed
    random = SeededRandom(seed: seed)
  }

  private var store: String { folder.appendingPathComponent("bytes").path }

  // MARK: A round

  private mutating func round(_ round: Int, isKill: Bool) throws {
    if round % Self.roundsPerStore == 0 {
      try? FileManager.default.removeItem(atPath: store)
      acknowledged = 0
      seed &+= 1
    }
    let call = Call.allCases[round % Call.allCases.count]
    let blow = isKill ? Blow.kill(call) : .fail(call, Errno.allCases[random.below(Errno.allCases.count)])
    let number = 1 + random.below(call.countMax)
    let injection = blow.injection(at: number, isSticky: !isKill && random.oneIn(3))
    summary.rounds += 1
    let end = try runWorker(injection, call)
    do {
      try judge(end, blow)
    } catch let problem as Problem {
      summary.failed += 1
      summary.firstFailure =
        summary.firstFailure
        ?? "seed \(seed), round \(round), \(injection), commit \(acknowledged): \(problem.text)"
      // The next one begins anew.
      try? FileManager.default.removeItem(atPath: store)
      acknowledged = 0
    }
  }

  private struct End {
    var wasKilled: Bool
    var wasStruck: Bool
    var status: Int32
    var words: [Substring]
  }

  private func runWorker(_ injection: String, _ call: Call) throws -> End {
    let trace = folder.appendingPathComponent("trace").path
    let process = Process()
    process.executableURL = URL(fileURLWithPath: strace)
    process.arguments = [
      "-f", "-qq", "-o", trace, "-e", "trace=\(call.rawValue)", "-e", injection,
      Bundle.main.executablePath ?? "campaign", StoreKillWorker.word, store, "\(seed)", "\(acknowledged)",
    ]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let said = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let calls = try String(contentsOfFile: trace, encoding: .utf8)
    let wasKilled = process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
    return End(
      wasKilled: wasKilled, wasStruck: wasKilled || calls.contains("(INJECTED)"),
      status: process.terminationStatus, words: String(decoding: said, as: UTF8.self).split(separator: "\n"))
  }

  private struct Problem: Error { var text: String }

  private mutating func judge(_ end: End, _ blow: Blow) throws {
    let words = end.words
    if let last = words.compactMap({ Int($0) }).last { acknowledged = max(acknowledged, last) }
    if words.contains(StoreKillWorker.unknown) { summary.outcomesUnknown += 1 }
    if end.wasStruck { summary.blows[blow, default: 0] += 1 }
    if let dishonest = words.first(where: { $0.hasPrefix(StoreKillWorker.dishonest) }) {
      throw Problem(text: String(dishonest))
    }
    guard end.wasKilled || end.status == 0 else {
      throw Problem(text: "the worker ended with status \(end.status) after \(words.suffix(3))")
    }
    try compare()
  }

  private mutating func compare() throws {
    let opened: ByteStore
    do {
      opened = try ByteStore.open(store, options: StoreKillWorker.options)
    } catch {
      throw Problem(text: "the store does not open: \(error)")
    }
    defer { opened.abandon() }
    let found = Int(opened.lastCommit.value)
    guard found == acknowledged || found == acknowledged + 1 else {
      throw Problem(text: "the store stands at commit \(found)")
    }
    try opened.checkInvariants()
    let contents = StoreKillScript.contents(after: found, seed: seed)
    guard opened.count == contents.count else { throw Problem(text: "there are \(opened.count) keys") }
    for (key, value) in contents where try opened.value(for: key) != value {
      throw Problem(text: "key \(String(decoding: key, as: UTF8.self)) has another value")
    }
    summary.commits += found - acknowledged
    // What an open has shown stays.
    acknowledged = found
  }
}

/// What the commits of a store are: the number of each says all about it.
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
