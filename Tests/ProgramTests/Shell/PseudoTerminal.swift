// A pseudo-terminal that a test controls.

import Foundation
import Testing

final class PseudoTerminal {
  private let own: Int32
  /// The end of the pseudo-terminal that the program uses.
  private let other: FileHandle
  private var shown = ""
  private let end = ProgramEnd()

  /// A pipe whose read end becomes readable when the program of the terminal ends.
  private final class ProgramEnd: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    init() {
      var ends: [Int32] = [-1, -1]
      precondition(pipe(&ends) == 0, "the process is out of descriptors")
      (readEnd, writeEnd) = (ends[0], ends[1])
      for descriptor in ends { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    }

    deinit {
      close(readEnd)
      close(writeEnd)
    }

    func signal() {
      let byte: [UInt8] = [0]
      _ = write(writeEnd, byte, byte.count)
    }
  }

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

  /// Starts a program. A terminal runs one program.
  func start(_ executable: String, _ arguments: [String], _ environment: [String: String]) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = other
    process.standardOutput = other
    process.standardError = other
    process.terminationHandler = { [end] _ in end.signal() }
    try process.run()
    return process
  }

  func type(_ text: String) throws {
    let bytes = Array(text.utf8)
    try #require(write(own, bytes, bytes.count) == bytes.count)
  }

  /// Waits until the text has been shown, and discards the output up to the end of the text.
  func wait(for text: String) throws { try wait(for: text) { $0.firstRange(of: text) } }

  /// Waits until a progress row with at least this percentage has been shown, and discards the output up to
  /// the percentage.
  func wait(forPercentage minimum: Int) throws {
    try wait(for: "\(minimum) %") { shown in
      shown.matches(of: #/ (\d+) %  /#).first { (Int($0.1) ?? 0) >= minimum }?.range
    }
  }

  private func wait(for text: String, _ find: (String) -> Range<String.Index>?) throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      if let range = find(shown) {
        shown = String(shown[range.upperBound...])
        return
      }
      try #require(ContinuousClock.now < deadline, "\(text) is not in the output: \(shown)")
      waitForInput([own], until: deadline)
      receive()
    }
  }

  /// Returns the remaining output, up to the end of the process.
  func rest(of process: Process) throws -> String {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      // The program writes nothing after its end, so the output that is read after the end is complete.
      let isOver = waitForInput([end.readEnd], until: .now)
      while receive() {}
      if isOver { break }
      try #require(ContinuousClock.now < deadline, "it does not end: \(shown)")
      waitForInput([own, end.readEnd], until: deadline)
    }
    process.waitUntilExit()
    defer { shown = "" }
    return shown
  }

  /// Adds available output to `shown`. Returns false if there is none.
  @discardableResult
  private func receive() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(own, &buffer, buffer.count)
    if count > 0 { shown += String(decoding: buffer.prefix(count), as: UTF8.self) }
    return count > 0
  }

  /// Waits until one of the descriptors is readable. Returns false if none is readable before the deadline.
  @discardableResult
  private func waitForInput(_ descriptors: [Int32], until deadline: ContinuousClock.Instant) -> Bool {
    var requests = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let milliseconds = (deadline - ContinuousClock.now) / .milliseconds(1)
    return poll(&requests, nfds_t(requests.count), Int32(max(0, milliseconds.rounded(.up)))) > 0
  }
}
