// Routes the events of a data source to a loop over its changes, or to the callback queue.
//
// - While a loop runs, events wait in the route, and each event wakes the loop.
// - When the loop ends, the events that still wait and all later events go to the callback queue. So a page
//   is reported even if its objects arrive after the end of the loop that requested the page.

private import ByteStore
import FirebaseFirestore
import LayerKit

/// The route of one data source. Any thread may post.
final class EventRoute<T>: Sendable {
  private struct State {
    var waiting: [ChangeEvent<T>] = []
    /// Wakes the running loop; nil if no loop runs.
    var wake: (@Sendable () -> Void)?
    /// The number of the loop that started last.
    var number = 0
  }

  private let state = Locked(State())

  func post(_ event: ChangeEvent<T>, otherwise: (ChangeEvent<T>) -> Void) {
    let wake = state.withLock { state in
      if state.wake != nil { state.waiting.append(event) }
      return state.wake
    }
    if let wake { wake() } else { otherwise(event) }
  }

  /// Removes and returns the oldest waiting event; nil if no event waits.
  func next() -> ChangeEvent<T>? {
    state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
  }

  /// Routes events to a loop from now on. Returns the number of the loop.
  func lead(to wake: @escaping @Sendable () -> Void) -> Int {
    let (number, waiting) = state.withLock { state in
      state.wake = wake
      state.number += 1
      return (state.number, state.waiting.count)
    }
    // Wake the new loop for the events that an earlier loop, which has not ended, has left waiting.
    for _ in 0..<waiting { wake() }
    return number
  }

  /// Ends the loop with this number. Its waiting events go to the queue, unless another loop has started.
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
