// Where work runs that may block, as queues and sessions see it.

/// Threads that may block.
package protocol BlockPool: Sendable {
  func run(_ block: @escaping @Sendable () -> Void)
}
