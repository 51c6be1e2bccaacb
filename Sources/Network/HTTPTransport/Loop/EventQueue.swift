// The events of a loop, as the loop sees them.

/// Waits for descriptors and for a wake-up. All calls but `wake` come from the thread of the loop.
package protocol EventQueue: AnyObject, Sendable {
  /// Registers a descriptor with a number, which is not 0. Events are reported as long as their cause lasts.
  /// Returns false if the system has no room for the descriptor.
  func add(_ descriptor: Int32, _ number: UInt64, reads: Bool, writes: Bool) -> Bool
  /// Changes the events of a registered descriptor.
  func change(_ descriptor: Int32, _ number: UInt64, reads: Bool, writes: Bool)
  /// Ends the wait that is running, or the next one. Usable from any thread.
  func wake()
  /// Waits for events, at most for this time, and calls `body` for each. May return earlier.
  func wait(milliseconds: Int32, _ body: (ReadyDescriptor) -> Void)
}

/// A descriptor that is ready.
package struct ReadyDescriptor: Sendable {
  /// The number that was registered with the descriptor.
  package var number: UInt64
  package var canRead: Bool
  package var canWrite: Bool
  /// The connection is broken or both sides are closed. Reported whether reads and writes are wanted or not.
  package var hasFailed: Bool

  package init(number: UInt64, canRead: Bool, canWrite: Bool, hasFailed: Bool) {
    self.number = number
    self.canRead = canRead
    self.canWrite = canWrite
    self.hasFailed = hasFailed
  }
}
