// A terminal that a test sits at.

import Foundation
import Testing

final class PseudoTerminal {
  private let own: Int32
  /// The program's end.
  private let other: FileHandle
  private var shown = ""

  init() throws {
    var (own, other): (Int32, Int32) = (-1, -1)
    try #require(openpty(&own, &other, nil, nil, nil) == 0)
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

  /// Returns when the text has been shown, and forgets what was shown up to it.
  func wait(for text: String) throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      if let range = shown.firstRange(of: text) {
        shown = String(shown[range.upperBound...])
        return
      }
      try #require(ContinuousClock.now < deadline, "\(text) is not in what was shown: \(shown)")
      var buffer = [UInt8](repeating: 0, count: 4096)
      let count = read(own, &buffer, buffer.count)
      if count > 0 {
        shown += String(decoding: buffer.prefix(count), as: UTF8.self)
      } else {
        usleep(5000)
      }
    }
  }
}
