// Where work runs that may block, as queues and sessions see it.

/// Threads that may block.
package protocol BlockPool: Sendable {
  func run(_ block: @escaping @Sendable () -> Void)
  /// Runs a block of an owner, such as a connection. Owners take turns. Long work comes after short work.
  func run(_ block: @escaping @Sendable () -> Void, of owner: UInt64, isLong: Bool)
  /// Whether blocks wait for a thread.
  var hasWaiting: Bool { get }
  /// A block has given bytes to a loop.
  func posted(_ byteCount: Int)
  /// Loops have taken bytes, or have dropped them.
  func arrived(_ byteCount: Int)
}

extension BlockPool {
  package func run(_ block: @escaping @Sendable () -> Void, of owner: UInt64, isLong: Bool) { run(block) }

  package var hasWaiting: Bool { false }

  package func posted(_ byteCount: Int) {}
  package func arrived(_ byteCount: Int) {}
}
