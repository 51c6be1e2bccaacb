// Measures the device itself while a load runs: repeatedly writes one page and syncs it.

import ByteStore
import Foundation
import Harness

final class DeviceProbe: Sendable {
  private struct State {
    var isStopped = false
    var longest = Duration.zero
    var total = Duration.zero
    var count = 0
  }

  private let path: String
  private let state = Locked(State())
  private let thread = Locked<WorkerThread?>(nil)

  /// Starts a probe in the directory `folder`. The probe runs until `end()` is called.
  init(in folder: URL) {
    path = folder.appendingPathComponent("probe-\(UUID().uuidString)").path
    thread.withLock { $0 = WorkerThread { [self] in run() } }
  }

  /// Stops the probe. Returns the longest and the average sync.
  func end() -> (longest: Duration, average: Duration) {
    state.withLock { $0.isStopped = true }
    thread.withLock { $0 }?.join()
    return state.withLock { ($0.longest, $0.count == 0 ? .zero : $0.total / $0.count) }
  }

  var longest: Duration { state.withLock { $0.longest } }

  private func run() {
    let file = open(path, O_RDWR | O_CREAT, 0o600)
    let page = [UInt8](repeating: 1, count: 4096)
    while !state.withLock({ $0.isStopped }) {
      let took = ContinuousClock().measure {
        _ = page.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) }
        fdatasync(file)
      }
      state.withLock { state in
        state.longest = max(state.longest, took)
        state.total += took
        state.count += 1
      }
      usleep(10_000)
    }
    close(file)
    unlink(path)
  }
}

extension Duration {
  var milliseconds: Int { Int(self / .milliseconds(1)) }
}
