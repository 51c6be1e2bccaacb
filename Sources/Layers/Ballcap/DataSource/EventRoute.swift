// The way of events of a data source: to a loop over its changes, or to the callback queue.
//
//   - While a loop runs, events wait here, and the loop is woken for each.
//   - When it ends, the events that it has not handled take the other way, as do all that come later. A page whose
//     objects arrive behind the end of the loop that asked for it is told nevertheless.

private import FirebaseCore
import FirebaseFirestore
import LayerKit

/// One for each data source. Any thread may post.
final class EventRoute<T>: Sendable {
  private struct State {
    var waiting: [ChangeEvent<T>] = []
    /// Wakes the loop that runs; nil without one.
    var wake: (@Sendable () -> Void)?
    /// The number of the last loop.
    var number = 0
  }

  private let state = Guarded(State())

  func post(_ event: ChangeEvent<T>, otherwise: (ChangeEvent<T>) -> Void) {
    let wake = state.withLock { state in
      if state.wake != nil { state.waiting.append(event) }
      return state.wake
    }
    if let wake { wake() } else { otherwise(event) }
  }

  /// The event that has waited longest.
  func next() -> ChangeEvent<T>? {
    state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
  }

  /// Leads events to a loop from now on. Returns the number of the loop.
  func lead(to wake: @escaping @Sendable () -> Void) -> Int {
    let (number, waiting) = state.withLock { state in
      state.wake = wake
      state.number += 1
      return (state.number, state.waiting.count)
    }
    // Those of a loop before it that was not over.
    for _ in 0..<waiting { wake() }
    return number
  }

  /// The loop is over. Events that wait are passed on, unless another loop has begun.
  func leave(_ number: Int, to queue: (ChangeEvent<T>) -> Void) {
    let waiting = state.withLock { state -> [ChangeEvent<T>] in
      guard state.number == number else { return [] }
      defer { state.waiting = [] }
      state.wake = nil
      return state.waiting
    }
    for event in waiting { queue(event) }
  }
}
