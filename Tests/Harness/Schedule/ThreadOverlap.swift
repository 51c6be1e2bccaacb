// Makes threads overlap. A thread at a pause point waits briefly for another thread to reach a pause point,
// and then both continue.
//
// Steps of commits, transactions and live queries then overlap more often. This helps the thread sanitizer,
// which detects only races between steps that the run did not order. Each such meeting orders the steps
// before it and the steps after it. Races between such steps are therefore detected only without meetings, in
// the campaigns of transactions and of live queries.

import ByteStore
import Dispatch
package import DocumentStore

package final class ThreadOverlap: StorePauses {
  /// Two pause points from which two threads continued together. `first` is the point of the thread that
  /// waited.
  package struct OverlapPair: Hashable, Sendable {
    package var first: StorePoint
    package var second: StorePoint
  }

  private struct Waiting {
    var point: StorePoint
    var wakeUp: DispatchSemaphore
  }

  private struct State {
    var waiting: Waiting?
    var counts: [OverlapPair: Int] = [:]
  }

  /// The maximum time that a thread waits. The wait is limited, because all other threads may be waiting for
  /// this one.
  private static let timeout = DispatchTimeInterval.milliseconds(2)

  private let state = Locked(State())

  package init() {}

  /// The number of times that two threads continued together, for each pair of points.
  package var counts: [OverlapPair: Int] { state.withLock { $0.counts } }

  package func pause(at point: StorePoint) {
    // This thread cannot be a partner, because it is waiting until other threads continue.
    guard point != .waiting else { return WorkerThread.yield() }
    let wakeUp = DispatchSemaphore(value: 0)
    let other = state.withLock { state -> Waiting? in
      guard let other = state.waiting else {
        state.waiting = Waiting(point: point, wakeUp: wakeUp)
        return nil
      }
      state.waiting = nil
      state.counts[OverlapPair(first: other.point, second: point), default: 0] += 1
      return other
    }
    if let other {
      other.wakeUp.signal()
      return
    }
    guard wakeUp.wait(timeout: .now() + Self.timeout) == .timedOut else { return }
    state.withLock { state in
      if state.waiting?.wakeUp === wakeUp { state.waiting = nil }
    }
  }
}
