// Events that asynchronous tests wait for.

import ByteStore

/// A count of events. Any thread may add an event. Each event ends one call of `next`, which may begin before
/// or after the event.
package final class EventCount: Sendable {
  private let number = Locked(0)
  private let events: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  package init() { (events, continuation) = AsyncStream.makeStream() }

  package var count: Int { number.withLock { $0 } }

  package func add() {
    number.withLock { $0 += 1 }
    continuation.yield()
  }

  /// Waits for the first event that no earlier call has received. Returns false if the task is cancelled,
  /// for example by the time limit of its test. Only one task at a time may call this method.
  package func next() async -> Bool {
    for await _ in events { return true }
    return false
  }
}
