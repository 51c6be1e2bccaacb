// Runs this program as a child process, to measure the child's memory or to kill the child.

import Foundation

enum Child {
  /// The first word of the child's command line.
  static let mark = "--as-child"

  static func start(_ task: String, _ words: [String]) throws -> (process: Process, output: Pipe) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = [mark, task] + words
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    return (process, output)
  }

  /// Runs a child to its end, and returns the named numbers that it printed.
  static func numbers(_ task: String, _ words: [String]) throws -> [String: Double] {
    let (process, output) = try start(task, words)
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0,
      let numbers = try JSONSerialization.jsonObject(with: data) as? [String: NSNumber]
    else { throw BenchmarkFailure("the process for \(task) failed") }
    return numbers.mapValues(\.doubleValue)
  }

  /// The entry point of the child process.
  static func run(_ words: ArraySlice<String>) throws {
    guard let task = words.first else { throw BenchmarkFailure("a child has no task") }
    let rest = Array(words.dropFirst())
    switch task {
    case Memory.task: try Memory.runChild(rest)
    case Recovery.task: try Recovery.runChild(rest)
    #if Server
    case ServerProcess.task: try ServerProcess.runChild(rest)
    #endif
    default: throw BenchmarkFailure("there is no task \(task)")
    }
  }

  static func engine(_ name: String) throws -> any DocumentEngine.Type {
    guard let type = Engines.all.first(where: { $0.name == name }) else {
      throw BenchmarkFailure("there is no engine \(name)")
    }
    return type
  }
}
