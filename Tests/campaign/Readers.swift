// Reads a store beside its writer, in other processes, while all of these processes are killed.
//
// A store has one long reader, which sees several writers come and go, and a short reader in each round.
// Every reader looks again and again and compares what it shows with the script of the commits
// (ReaderScript.swift). The number of the last shown commit must never become smaller, not even from one
// reader to the next, and the next writer must find every commit that a reader has shown.

import Foundation
import Harness

enum Readers: Campaign {
  static let name = "readers"
  static let summary =
    "kills a writer and processes that read beside it, and compares every shown state with the commits"
  static let amount = (option: "--rounds", standard: Optional(100))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-readers-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var result = CampaignResult(run: 0, failed: 0)
    let rounds = options.amount ?? 2_000
    let progress = CampaignProgress(name, of: rounds)
    var history = ReaderRounds(seed: options.seed, in: folder)
    defer { history.end() }
    for round in 0..<rounds {
      do {
        try history.round(round)
      } catch let problem as ReaderRounds.Problem {
        result.failed += 1
        result.firstFailure = result.firstFailure ?? "round \(round): \(problem.text)"
        history.startNewStore()
      }
      result.run += 1
      progress.note(result.run)
    }
    result.details = [
      ("commits", history.commits), ("statesShown", history.statesShown),
      ("writersKilled", history.writersKilled), ("readersKilled", history.readersKilled),
    ]
    if result.failed == 0, history.statesShown == 0 || rounds >= 50 && history.statesShown < rounds {
      result.failed = 1
      result.firstFailure = "too few states were shown: see the numbers"
    }
    return result
  }
}

/// The rounds of the campaign. Each round has one writer, which continues the store of the round before.
struct ReaderRounds {
  struct Problem: Error {
    var text: String
  }

  private static let roundsPerStore = 8
  /// A process that has not printed an expected line after this time hangs.
  private static let secondsMax = 60.0

  private let folder: URL
  private var random: SeededRandom
  private var seed: UInt64
  private var store = 0
  private var roundsOfStore = 0
  private var longReader: WorkerProcess?
  /// The last commit that the writers acknowledged, and the last one that a reader showed.
  private var acknowledged = 0
  private var shown = 0
  private(set) var commits = 0
  private(set) var statesShown = 0
  private(set) var writersKilled = 0
  private(set) var readersKilled = 0

  init(seed: UInt64, in folder: URL) {
    self.folder = folder
    self.seed = SeededRandom.seed(seed, 44)
    random = SeededRandom(seed: seed)
  }

  private var path: String { folder.appendingPathComponent("store\(store)").path }

  mutating func end() {
    longReader?.kill()
    longReader = nil
  }

  mutating func startNewStore() {
    end()
    try? FileManager.default.removeItem(atPath: path)
    store += 1
    roundsOfStore = 0
    seed &+= 1
    (acknowledged, shown) = (0, 0)
  }

  mutating func round(_ round: Int) throws {
    if roundsOfStore == Self.roundsPerStore { startNewStore() }
    roundsOfStore += 1
    let writer = try start([ReaderCampaignWriter.word, path, "\(seed)"], "writer")
    defer { writer.kill() }
    try wait(for: writer, "the writer opens the store") { !$0.numbers.isEmpty }
    let found = writer.numbers.first ?? 0
    guard found >= acknowledged, found >= shown else {
      throw Problem(text: "commit \(acknowledged) was acknowledged, \(shown) shown, and \(found) found")
    }
    let long = try longReader ?? start(readerArguments, "long")
    longReader = long
    let short = try start(readerArguments, "short\(round)")
    defer { short.kill() }
    try wait(for: long, "the long reader shows a commit") { !$0.numbers.isEmpty }
    // Otherwise the short reader may be killed while it opens the store.
    if random.oneIn(2) { try wait(for: short, "the short reader shows a commit") { !$0.numbers.isEmpty } }
    usleep(UInt32(random.below(120_000)))
    if random.oneIn(4) {
      try closeCleanly(writer, readers: [long, short])
    } else {
      if random.oneIn(2) { try killReader(short) }
      writer.kill()
      writersKilled += 1
      try noteAcknowledged(writer)
    }
    if random.oneIn(2) { usleep(UInt32(random.below(10_000))) }
    try killReader(short)
    try noteShown(long)
    if random.oneIn(6) {
      try killReader(long)
      longReader = nil
    }
  }

  /// Closes the writer. The readers must then show its last commit.
  private mutating func closeCleanly(_ writer: WorkerProcess, readers: [WorkerProcess]) throws {
    writer.closeInput()
    try wait(for: writer, "the writer closes the store") { !$0.isRunning }
    try noteAcknowledged(writer)
    let last = acknowledged
    for reader in readers {
      try wait(for: reader, "a reader shows commit \(last)") { $0.numbers.last == last }
    }
  }

  private var readerArguments: [String] { [ReaderCampaignReader.word, path, "\(seed)", "\(shown)"] }

  private func start(_ arguments: [String], _ name: String) throws -> WorkerProcess {
    try WorkerProcess(arguments, output: folder.appendingPathComponent("\(store)-\(name)"))
  }

  private mutating func killReader(_ reader: WorkerProcess) throws {
    if reader.kill() { readersKilled += 1 }
    try noteShown(reader)
  }

  private mutating func noteAcknowledged(_ writer: WorkerProcess) throws {
    if let problem = writer.problem { throw Problem(text: problem) }
    let numbers = writer.numbers
    commits += max(0, numbers.count - 1)
    acknowledged = max(acknowledged, numbers.last ?? 0)
  }

  private mutating func noteShown(_ reader: WorkerProcess) throws {
    if let problem = reader.problem { throw Problem(text: problem) }
    statesShown += reader.takeNewNumbers()
    shown = max(shown, reader.numbers.last ?? 0)
  }

  private func wait(
    for process: WorkerProcess, _ event: String, until isThere: (WorkerProcess) -> Bool
  ) throws {
    let end = Date().addingTimeInterval(Self.secondsMax)
    while !isThere(process) {
      if let problem = process.problem { throw Problem(text: problem) }
      guard Date() < end else { throw Problem(text: "waited in vain until \(event)") }
      usleep(1000)
    }
  }
}

/// A process whose output goes to a file, so that it never waits for its reader.
final class WorkerProcess {
  private let process = Process()
  private let input = Pipe()
  private let output: URL
  private var numbersTaken = 0

  init(_ arguments: [String], output: URL) throws {
    self.output = output
    _ = FileManager.default.createFile(atPath: output.path, contents: nil)
    process.executableURL = Bundle.main.executableURL
    process.arguments = arguments
    process.standardInput = input
    process.standardOutput = try FileHandle(forWritingTo: output)
    try process.run()
  }

  var isRunning: Bool { process.isRunning }

  /// Asks the process to end.
  func closeInput() { try? input.fileHandleForWriting.close() }

  /// Kills the process. Returns false if it has already ended.
  @discardableResult
  func kill() -> Bool {
    guard process.isRunning else { return false }
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    return true
  }

  /// The complete lines that the process has printed.
  private var lines: [Substring] {
    let text = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
    return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
  }

  /// The printed numbers of commits.
  var numbers: [Int] { lines.compactMap { Int($0) } }

  /// The first line that is no number, or the reason why the process ended by itself.
  var problem: String? {
    if let line = lines.first(where: { Int($0) == nil }) { return String(line) }
    guard !process.isRunning, process.terminationReason == .exit, process.terminationStatus != 0 else {
      return nil
    }
    return "a process ended with status \(process.terminationStatus)"
  }

  /// Returns how many numbers were printed since the last call.
  func takeNewNumbers() -> Int {
    let count = numbers.count
    defer { numbersTaken = count }
    return count - numbersTaken
  }
}
