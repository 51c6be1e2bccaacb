// What a store does when its callers do nothing.
//
//   1. sync       what buffered commits left in the system's cache
//   2. watermark  once the log has fallen quiet, a frame that vouches for the last group (C9): without
//                 it, damage to that group would look like a torn tail

import Dispatch

package enum Maintenance: Sendable {
  case inBackground(afterMilliseconds: Int)
  /// Only when asked: for tests that decide what happens when.
  case manual
}

extension ByteStore {
  /// Has maintenance look at the store soon, unless that is planned already.
  func scheduleMaintenance() {
    guard case .inBackground(let milliseconds) = options.maintenance else { return }
    let isNew = state.withLock { state in
      defer { state.isMaintenanceScheduled = true }
      return !state.isMaintenanceScheduled
    }
    guard isNew else { return }
    let delay = DispatchTimeInterval.milliseconds(milliseconds)
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay) { [weak self] in
      self?.runScheduledMaintenance()
    }
  }

  private func runScheduledMaintenance() {
    state.withLock { $0.isMaintenanceScheduled = false }
    if performMaintenance() { scheduleMaintenance() }
  }

  /// One look; true if another one is needed later.
  @discardableResult
  package func performMaintenance() -> Bool {
    // Like a commit, it is the leader while it touches the writer. It never waits: who leads now will
    // schedule the next look.
    let leads = state.withLock { state in
      guard state.end == nil, !state.isLeading else { return false }
      state.isLeading = true
      return true
    }
    guard leads else { return false }
    let result = writer.withLock { writer in
      Result { () throws(SystemFailure) in try maintain(&writer) }
    }
    state.withLock { state in
      if case .failure(let cause) = result { fail([], .unknown(cause), &state) }
      state.isLeading = false
    }
    state.wakeAll()
    return (try? result.get()) ?? false
  }

  private func maintain(_ writer: inout Writer) throws(SystemFailure) -> Bool {
    guard var log = writer.log else { return false }
    defer { writer.log = log }
    if log.hasUnsyncedCommits {
      try log.sync()
      return true
    }
    guard log.lacksWatermark else { return false }
    let isQuiet = log.end == writer.endAtLastLook
    writer.endAtLastLook = log.end
    if isQuiet, platform.keeps(.watermarkWhenQuiet) { try log.appendWatermark() }
    return !isQuiet
  }
}
