// A task of the program `instructions` under callgrind.

import Foundation
import InstructionCounts

/// A running process. Callgrind writes two profiles for each row: the first one when `countedRow` is called,
/// the second one when `countedPart` returns. Only the second one counts the row. These functions are in the
/// program `instructions`.
///
/// The option `--toggle-collect` would need only one profile, but it does not exclude earlier calls from the
/// counts of calls.
struct CallgrindTask {
  private static let trigger = "countedPart"

  private let task: String
  private let profiles: URL
  private let tool: Tool

  init(_ valgrind: String, _ program: String, _ task: String, in directory: URL) throws {
    self.task = task
    profiles = directory.appendingPathComponent("\(task).profile")
    let options = [
      // With separate profiles for each thread, work on other threads does not count.
      "--tool=callgrind", "--quiet", "--separate-threads=yes", "--dump-before=*countedRow*",
      "--dump-after=*\(Self.trigger)*", "--callgrind-out-file=\(profiles.path)",
    ]
    // Dictionaries have the same order in each run.
    tool = try Tool(
      valgrind, options + [program, task, directory.path], ["SWIFT_DETERMINISTIC_HASHING": "1"])
  }

  /// Waits for the end of the process, and returns the counts of its rows.
  func rows() throws -> [RowCounts] {
    // The program prints a line for each row, in the order of the profiles.
    try tool.output().split(separator: "\n").enumerated().map { index, line in
      let words = line.split(separator: " ")
      guard words.count == 2, let operations = Int(words[1]), operations > 0 else {
        throw BenchmarkFailure("the task \(task) of `instructions` has printed: \(line)")
      }
      // The number of the profile, and that of the main thread.
      let file = "\(profiles.path).\(2 * (index + 1))-01"
      let profile = try CallgrindProfile(String(contentsOfFile: file, encoding: .utf8))
      guard profile.trigger.contains(Self.trigger) else {
        throw BenchmarkFailure("callgrind has written \(file) at another time: \(profile.trigger)")
      }
      return RowCounts(name: String(words[0]), profile, operations: operations)
    }
  }
}
