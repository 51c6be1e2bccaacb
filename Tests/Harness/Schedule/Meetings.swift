// Threads that go on together: whoever comes to a place between two steps waits there for a moment until another one
// comes to such a place, and then both go on at once. So steps of commits, transactions and live queries overlap that
// otherwise seldom would: for the thread sanitizer, which sees a race only where it might have happened. What one thread
// does before a meeting is in order with what the other does after it; races between these show only without meetings,
// in the campaigns of transactions and of live queries.

import ByteStore
import Dispatch
package import DocumentStore

package final class Meetings: StorePauses {
  /// Two places at which threads went on at once; the one that was waited at is the first.
  package struct Meeting: Hashable, Sendable {
    package var first: StorePoint
    package var second: StorePoint
  }

  private struct Waiting {
    var point: StorePoint
    var wakeUp: DispatchSemaphore
  }

  private struct State {
    var waiting: Waiting?
    var counts: [Meeting: Int] = [:]
  }

  /// Nobody may come: all others may wait for what this thread has still to do.
  private static let patience = DispatchTimeInterval.milliseconds(2)

  private let state = Locked(State())

  package init() {}

  /// How often which places met.
  package var counts: [Meeting: Int] { state.withLock { $0.counts } }

  package func pause(at point: StorePoint) {
    // Others have to go on first: who waits for that is no company.
    guard point != .waiting else { return WorkerThread.yield() }
    let wakeUp = DispatchSemaphore(value: 0)
    let other = state.withLock { state -> Waiting? in
      guard let other = state.waiting else {
        state.waiting = Waiting(point: point, wakeUp: wakeUp)
        return nil
      }
      state.waiting = nil
      state.counts[Meeting(first: other.point, second: point), default: 0] += 1
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
