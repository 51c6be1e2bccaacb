// `--instructions`: counts the instructions of the hot paths, and compares them with the pins.
//
//   1. create the stores, without callgrind
//   2. run the rows that read and the rows that write in two processes under callgrind, at the same time
//   3. read a profile for each row
//   4. print the counts, and compare them with the pins or write the pins

import Foundation
import InstructionCounts

enum InstructionRun {
  /// Returns the exit status: 1 if the counts fail the comparison, and 0 also if they cannot be compared.
  static func run(_ options: BenchmarkOptions) throws -> Int32 {
    guard Machine.isOptimised else { throw BenchmarkFailure("a debug build executes other instructions") }
    guard let valgrind = Tool.path(of: "valgrind") else {
      return try skip("valgrind is not installed: apt-get install valgrind", options)
    }
    guard let toolchain = try toolchain() else {
      return try skip("`swift --version` names no version", options)
    }
    let rows = try withTemporaryDirectory(options) { try count(valgrind, $0) }
    let file = pinsDirectory.appendingPathComponent(toolchain.pinsFileName)
    if options.pinsInstructions {
      Progress.print(InstructionTable.text(rows, nil))
      try pin(rows, toolchain, in: file)
      return 0
    }
    guard FileManager.default.fileExists(atPath: file.path) else {
      Progress.print(InstructionTable.text(rows, nil))
      return try skip("nothing is pinned for \(toolchain). Pin these counts:\n  \(pinCommand)", options)
    }
    let pins = try InstructionPins(reading: String(contentsOf: file, encoding: .utf8))
    Progress.print(InstructionTable.text(rows, pins))
    let comparison = PinComparison(rows, pins)
    let report = comparison.report(pinCommand: pinCommand)
    Progress.say(report.isEmpty ? "all rows have the pinned instructions" : report)
    return comparison.isFailure ? 1 : 0
  }

  private static func pin(_ rows: [RowCounts], _ toolchain: Toolchain, in file: URL) throws {
    try FileManager.default.createDirectory(at: pinsDirectory, withIntermediateDirectories: true)
    try Data(InstructionPins(rows).text(toolchain).utf8).write(to: file, options: .atomic)
    Progress.say("the counts are pinned in \(file.path)")
  }

  /// Says why nothing is compared. Nothing can be pinned then, either, which is an error.
  private static func skip(_ reason: String, _ options: BenchmarkOptions) throws -> Int32 {
    if options.pinsInstructions { throw BenchmarkFailure(reason) }
    Progress.say("INSTRUCTIONS ARE NOT COMPARED: \(reason)")
    return 0
  }

  private static var pinCommand: String { "\(CommandLine.arguments[0]) --instructions --pin" }

  /// The folder of the pins in the checkout that this program was built from.
  private static let pinsDirectory = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Pins")

  private static func toolchain() throws -> Toolchain? {
    guard let swift = Tool.path(of: "swift") else { return nil }
    return Toolchain(versionOutput: try Tool(swift, ["--version"]).output())
  }

  // MARK: Counting

  private static func count(_ valgrind: String, _ directory: URL) throws -> [RowCounts] {
    let program = try self.program()
    Progress.note("creating the stores")
    _ = try Tool(program, ["prepare", directory.path]).output()
    Progress.note("counting instructions")
    let tasks = try ["reads", "writes"].map { task in
      try CallgrindTask(valgrind, program, task, in: directory)
    }
    // Waits for all tasks, even if one fails, because the directory is deleted afterwards.
    let results = tasks.map { task in Result { try task.rows() } }
    let rows = try results.flatMap { try $0.get() }
    return try InstructionRow.allCases.map { row in
      guard let counts = rows.first(where: { $0.name == row.name }) else {
        throw BenchmarkFailure("the program `instructions` has not run \(row.name)")
      }
      return counts
    }
  }

  /// The program beside this one.
  private static func program() throws -> String {
    let path = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appendingPathComponent("instructions").path
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw BenchmarkFailure(
        "\(path) is missing: build all programs with `swift build -c release --package-path Benchmarks`")
    }
    return path
  }

  private static func withTemporaryDirectory<Result>(
    _ options: BenchmarkOptions, _ body: (URL) throws -> Result
  ) throws -> Result {
    let directory = URL(fileURLWithPath: options.directory)
      .appendingPathComponent("dugout-instructions-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    return try body(directory)
  }
}
