// The documents that a listener receives.

#if Server
import Foundation

/// Counts documents with a mark, on the thread of a client, until a snapshot has all of them.
final class DeliveredChanges: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the lock protects the state, and the rest is never replaced.
  private struct State {
    var mark: [UInt8] = []
    var missing = 0
    var isComplete = true
    var startTime: UInt64 = 0
    var clientTime: UInt64 = 0
  }

  private static let secondsMax = 60

  private let lock = NSLock()
  private var state = State()
  private let arrived = DispatchSemaphore(value: 0)
  private let documentStart: [UInt8]
  private let targetStart: [UInt8]

  /// `documentStart` and `targetStart` are the bytes with which messages about documents and about targets
  /// begin.
  init(documentStart: [UInt8], targetStart: [UInt8]) {
    self.documentStart = documentStart
    self.targetStart = targetStart
  }

  /// Documents with another mark do not count.
  func await(_ mark: String, count: Int) {
    lock.withLock { state = State(mark: Array(mark.utf8), missing: count, isComplete: false) }
  }

  func take(_ message: UnsafeRawBufferPointer) {
    let isComplete = lock.withLock {
      guard !state.isComplete else { return false }
      if state.startTime == 0 { state.startTime = ThreadTime.now() }
      if message.starts(with: documentStart) {
        if hasMark(message) { state.missing -= 1 }
        return false
      }
      guard state.missing <= 0, message.starts(with: targetStart) else { return false }
      state.isComplete = true
      state.clientTime = ThreadTime.now() - state.startTime
      return true
    }
    if isComplete { arrived.signal() }
  }

  private func hasMark(_ message: UnsafeRawBufferPointer) -> Bool {
    var rest = message
    while let found = memchr(rest.baseAddress!, Int32(state.mark[0]), rest.count) {
      rest = UnsafeRawBufferPointer(rebasing: rest[(UnsafeRawPointer(found) - rest.baseAddress!)...])
      if rest.starts(with: state.mark) { return true }
      rest = UnsafeRawBufferPointer(rebasing: rest[1...])
      if rest.isEmpty { return false }
    }
    return false
  }

  /// Returns the processor time of the client's thread, from the first message to the last.
  func wait() throws -> Double {
    guard arrived.wait(timeout: .now() + .seconds(Self.secondsMax)) == .success else {
      let missing = lock.withLock { state.missing }
      throw BenchmarkFailure("\(missing) documents do not arrive after \(Self.secondsMax) s")
    }
    return try lock.withLock {
      guard state.missing == 0 else { throw BenchmarkFailure("\(-state.missing) documents arrive twice") }
      return Double(state.clientTime)
    }
  }
}
#endif
