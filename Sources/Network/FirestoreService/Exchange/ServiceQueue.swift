// Where calls run.

internal import Dispatch

/// Runs blocks one at a time and in the order in which they were added, but not within `add`. All events of a
/// call are delivered in blocks of its queue. One event is not: a stream for which too many requests wait
/// ends within `send`, because its queue may wait for the client.
///
/// A transport whose client reads slowly lets the blocks wait. A watch stream then keeps at most two states
/// of each target, because later snapshots replace those that wait. The rest of a long answer is not read,
/// but its snapshot is kept: cancel calls whose clients do not read.
public struct ServiceQueue: Sendable {
  /// Adds a block.
  public let add: @Sendable (_ block: @escaping @Sendable () -> Void) -> Void
  /// Whether calls that neither block nor take long may begin within `send`. Their first events are then
  /// delivered there, and all later ones in blocks of the queue. For transports whose threads run an event
  /// loop.
  package var mayBeginWithinSend = false
  /// Runs a block that may wait for other threads, whether the queue waits or not. By default, the caller
  /// waits, which a thread with an event loop must not do.
  package var runAside: @Sendable (_ block: @escaping @Sendable () -> Void) -> Void = { $0() }

  /// Creates a queue from a function that adds a block.
  public init(_ add: @escaping @Sendable (_ block: @escaping @Sendable () -> Void) -> Void) { self.add = add }

  /// A queue of its own on the threads of Dispatch.
  static func own() -> ServiceQueue {
    let queue = DispatchQueue(label: "dugout.service.call")
    return ServiceQueue { block in queue.async(execute: block) }
  }
}
