// Detects fuzz inputs that crash the process, loop forever, or exhaust memory.

import ByteStore
import Foundation
import Harness

/// Keeps the current input in a file, so that the input is not lost if the process crashes. The file is
/// removed after success. Ends the process if an input runs for too long or if the process uses too much
/// memory.
final class FuzzWatch: Sendable {
  private static let secondsMax = 30
  private static let memoryMax = 3 << 30

  private struct State {
    var input: [UInt8] = []
    var beganAt: ContinuousClock.Instant?
    var isOver = false
  }

  private let path: String
  private let descriptor: Int32
  private let target: String
  private let state = Locked(State())

  init(target: String) {
    self.target = target
    path =
      FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-fuzz-\(target)-\(getpid()).bin").path
    descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
    let thread = WorkerThread { [self] in watch() }
    thread.detach()
  }

  /// Records an input before it runs.
  func note(_ input: [UInt8]) {
    _ = ftruncate(descriptor, off_t(input.count))
    _ = input.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    state.withLock { state in
      state.input = input
      state.beganAt = ContinuousClock.now
    }
  }

  func end() {
    state.withLock { $0.isOver = true }
    close(descriptor)
    unlink(path)
  }

  private func watch() {
    while !state.withLock({ $0.isOver }) {
      sleep(1)
      let (input, began) = state.withLock { ($0.input, $0.beganAt) }
      guard let began else { continue }
      if ContinuousClock.now - began > .seconds(Self.secondsMax) { stop(input, "ran for too long") }
      if ProcessMeasures.residentBytes > Self.memoryMax { stop(input, "took too much memory") }
    }
  }

  private func stop(_ input: [UInt8], _ what: String) -> Never {
    complain("first failure: \(target): an input \(what)\ninput \(Data(input).base64EncodedString())")
    printLine("fuzz: 1 run, 1 failed")
    _exit(1)
  }
}
