// The turn in a world, which goes from thread to thread.

internal import Dispatch
internal import Foundation

/// The turn of a thread that the world has lent it to.
final class Turn: @unchecked Sendable {
  // The conformance is unchecked. Only the thread that has the turn reads or sets `back`, and the semaphore
  // by which the turn is passed on orders these accesses.
  private static let key = "dugout.testing.turn"

  /// Signalled to give the turn back.
  var back: DispatchSemaphore?

  static var current: Turn? { Thread.current.threadDictionary[key] as? Turn }

  func take() { Thread.current.threadDictionary[Self.key] = self }
}

/// A flag that threads of one world set and read in turn.
final class Flag: @unchecked Sendable {
  // The conformance is unchecked. Only the thread that has the turn reads or raises the flag, and the lock
  // and the semaphores by which the turn is passed on order these accesses.
  private(set) var isRaised = false

  func raise() { isRaised = true }
}
