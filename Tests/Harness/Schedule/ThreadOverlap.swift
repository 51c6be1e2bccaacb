// Makes threads overlap: a thread at a pause point waits briefly for another, and then both continue.
//
// Steps of commits, transactions and live queries then overlap more often. This helps the thread
// sanitizer, which only detects races that could have occurred in the run. A meeting orders the steps
// before it with those after it, so races between these only show without meetings, in the campaigns of
// transactions and of live queries.

import ByteStore
import Dispatch
package import DocumentStore

package final class ThreadOverlap: StorePauses {
  /// Two points at which threads continued together; the first is that of the thread that waited.
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

  /// The wait is limited, because all other threads may be waiting for this one.
  private static let patience = DispatchTimeInterval.milliseconds(2)

  private let state = Locked(State())

  package init() {}

  /// The number of meetings for each pair of points.
  package var counts: [OverlapPair: Int] { state.withLock { $0.counts } }

  package func pause(at point: StorePoint) {
    // This thread waits for others to continue, so it cannot be a partner.
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
    guard wakeUp.wait(timeout: .now() + Self.patience) == .timedOut else { return }
    state.withLock { state in
      if state.waiting?.wakeUp === wakeUp { state.waiting = nil }
    }
  }
}
