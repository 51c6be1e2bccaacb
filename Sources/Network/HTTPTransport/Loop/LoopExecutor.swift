// An event loop, as sessions and responses see it. Tests use one without a thread.

/// Runs blocks on one thread.
package protocol LoopExecutor: AnyObject, Sendable {
  /// Whether the caller is on the thread of the loop.
  var isCurrent: Bool { get }
  /// Runs a block on the loop, after the blocks that were added before.
  func execute(_ block: @escaping @Sendable () -> Void)
  /// Runs a block on the loop after this time, unless the timer is cancelled before. Called on the loop.
  ///
  /// The time can be as long as `UInt64.max`. The block never runs within this call, and the loop releases it
  /// when it has run or is cancelled.
  func after(_ nanoseconds: UInt64, _ block: @escaping @Sendable () -> Void) -> any LoopTimer
}

/// A block that waits for its time on a loop.
package protocol LoopTimer: AnyObject, Sendable {
  /// Drops the block. Called on the loop; does nothing after the block has run.
  func cancel()
}
