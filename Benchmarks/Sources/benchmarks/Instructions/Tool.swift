// A program that runs beside the benchmarks, and its output.

import Foundation

struct Tool {
  private let process = Process()
  private let pipe = Pipe()

  /// Starts the program. Its standard error is that of the benchmarks.
  init(_ path: String, _ arguments: [String], _ environment: [String: String] = [:]) throws {
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardOutput = pipe
    try process.run()
  }

  /// Waits for the end of the program, and returns its standard output. Throws if the program fails.
  func output() throws -> String {
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationReason == .exit, process.terminationStatus == 0 else {
      let command = [process.executableURL?.path ?? ""] + (process.arguments ?? [])
      throw BenchmarkFailure("this command failed: \(command.joined(separator: " "))")
    }
    return String(decoding: data, as: UTF8.self)
  }

  /// Searches the directories of `PATH`; nil if none has the program.
  static func path(of name: String) -> String? {
    let directories = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
    return directories.map { "\($0)/\(name)" }.first(where: FileManager.default.isExecutableFile)
  }
}
