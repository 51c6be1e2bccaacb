// A pseudo-terminal that a test controls.

import Foundation
import Testing

final class PseudoTerminal {
  private let own: Int32
  /// The end of the pseudo-terminal that the program uses.
  private let other: FileHandle
  private var shown = ""

  init(columns: UInt16 = 80) throws {
    var (own, other): (Int32, Int32) = (-1, -1)
    var size = winsize()
    (size.ws_row, size.ws_col) = (24, columns)
    try #require(openpty(&own, &other, nil, nil, &size) == 0)
    self.own = own
    self.other = FileHandle(fileDescriptor: other, closeOnDealloc: true)
    _ = fcntl(own, F_SETFL, O_NONBLOCK)
  }

  deinit { close(own) }

  func start(_ executable: String, _ arguments: [String], _ environment: [String: String]) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = other
    process.standardOutput = other
    process.standardError = other
    try process.run()
    return process
  }

  func type(_ text: String) throws {
    let bytes = Array(text.utf8)
    try #require(write(own, bytes, bytes.count) == bytes.count)
  }

  /// Waits until the text has been shown, and discards the output up to the end of the text.
  func wait(for text: String) throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      if let range = shown.firstRange(of: text) {
        shown = String(shown[range.upperBound...])
        return
      }
      try #require(ContinuousClock.now < deadline, "\(text) is not in what was shown: \(shown)")
      if receive().isEmpty { usleep(5000) }
    }
  }

  /// Returns the remaining output, up to the end of the process.
  func rest(of process: Process) throws -> String {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      let isOver = !process.isRunning
      let text = receive()
      guard text.isEmpty else { continue }
      if isOver { break }
      try #require(ContinuousClock.now < deadline, "it does not end: \(shown)")
      usleep(2000)
    }
    process.waitUntilExit()
    defer { shown = "" }
    return shown
  }

  private func receive() -> String {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(own, &buffer, buffer.count)
    let text = count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : ""
    shown += text
    return text
  }
}
