// A log into a pipe: nothing waits for a reader, and lines that are lost are counted.

import Foundation
import Synchronization
import Testing

@testable import FirestoreServer

@Suite(.timeLimit(.minutes(1))) struct LogQueueTests {
  /// A log into a pipe, which has room for 64 KiB.
  private func log(into pipe: Pipe) -> ServerLog {
    let output = pipe.fileHandleForWriting
    return ServerLog(format: .text) { line in try? output.write(contentsOf: Data((line + "\n").utf8)) }
  }

  private static let count = 20_000

  /// Writes more than has room.
  private func fill(_ log: ServerLog) {
    for number in 0..<Self.count { log.write("\(number) " + String(repeating: "a", count: 200)) }
  }

  /// The findings of a reader of a log.
  private struct Found {
    var lines = 0
    /// The number of lines that are missing according to the log.
    var missing = 0
    /// Whether each line, and each number of missing lines, is where it has to be.
    var isInOrder = true
  }

  /// Reads until the log accounts for all lines.
  private static func read(_ input: FileHandle) -> Found {
    var found = Found()
    var rest = ""
    while found.lines + found.missing < count {
      let data = input.availableData
      guard !data.isEmpty else { return found }
      var lines = (rest + String(decoding: data, as: UTF8.self))
        .split(separator: "\n", omittingEmptySubsequences: false)
      rest = String(lines.removeLast())
      for line in lines {
        if line.contains(" warning log_lines_dropped count=") {
          found.missing += Int(line.split(separator: "=").last ?? "") ?? 0
        } else {
          let number = Int(line.prefix { $0 != " " })
          if number != found.lines + found.missing { found.isInOrder = false }
          found.lines += 1
        }
      }
    }
    return found
  }

  @Test func aPipeThatIsNotReadDelaysNothing() async {
    let pipe = Pipe()
    let log = log(into: pipe)
    fill(log)
    let dropped = Int(log.droppedCount)
    #expect(dropped > Self.count / 2)
    // Ends, although nothing is read.
    await log.flush()
    #expect(log.droppedCount == UInt64(dropped))

    let found = Self.read(pipe.fileHandleForReading)
    #expect(found.isInOrder)
    #expect(found.missing == dropped && found.lines == Self.count - dropped, "\(found)")
  }

  @Test func aSlowReaderLearnsWhereLinesAreMissing() async {
    let pipe = Pipe()
    let log = log(into: pipe)
    let found = Task.detached { [input = pipe.fileHandleForReading] in Self.read(input) }
    fill(log)
    let all = await found.value
    #expect(all.isInOrder)
    #expect(all.missing == Int(log.droppedCount), "\(all)")
  }

  @Test func aFlushWaitsForTheLines() async {
    let lines = LogLines()
    let log = ServerLog(format: .json, write: lines.append)
    for number in 0..<1000 { log.write("\(number)") }
    await log.flush()
    #expect(lines.all == (0..<1000).map { "\($0)" })
    log.write("last")
    await log.flush()
    #expect(lines.all.last == "last" && log.droppedCount == 0)
  }
}
