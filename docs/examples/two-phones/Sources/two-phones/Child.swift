// A process of the story: it gets lines, answers with lines, and can be killed.

import Foundation

final class Child {
  struct Ended: Error, CustomStringConvertible {
    let name: String
    var description: String { "\(name) has ended without an answer" }
  }

  private let name: String
  private let process = Process()
  private let input = Pipe()
  private var lines: AsyncStream<String>.AsyncIterator
  private let ended: AsyncStream<Never>

  /// Starts this program with arguments.
  init(_ name: String, _ arguments: [String]) throws {
    self.name = name
    process.executableURL = Bundle.main.executableURL
    process.arguments = arguments
    let output = Pipe()
    process.standardInput = input
    process.standardOutput = output
    let (ended, end) = AsyncStream<Never>.makeStream()
    self.ended = ended
    process.terminationHandler = { _ in end.finish() }
    lines = Self.lines(of: output.fileHandleForReading).makeAsyncIterator()
    try process.run()
    try output.fileHandleForWriting.close()
  }

  private static func lines(of output: FileHandle) -> AsyncStream<String> {
    let (stream, continuation) = AsyncStream<String>.makeStream()
    Thread.detachNewThread {
      var line: [UInt8] = []
      var byte: UInt8 = 0
      while true {
        let count = read(output.fileDescriptor, &byte, 1)
        if count < 0, errno == EINTR { continue }
        guard count == 1 else { break }
        if byte != UInt8(ascii: "\n") {
          line.append(byte)
        } else {
          continuation.yield(String(decoding: line, as: UTF8.self))
          line = []
        }
      }
      continuation.finish()
    }
    return stream
  }

  func send(_ line: String) throws {
    try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
  }

  /// The next line of the process. Throws if the process ends first.
  func next() async throws -> String {
    guard let line = await lines.next() else { throw Ended(name: name) }
    return line
  }

  /// Kills the process as a power button would, without a chance to finish anything.
  func kill() async {
    Foundation.kill(process.processIdentifier, SIGKILL)
    for await _ in ended {}
  }

  /// Closes the input of the process, which makes it end.
  func end() async throws {
    try input.fileHandleForWriting.close()
    for await _ in ended {}
    guard process.terminationReason == .exit, process.terminationStatus == 0 else { throw Ended(name: name) }
  }
}
