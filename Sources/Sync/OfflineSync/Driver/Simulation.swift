// The interface of a simulation: it runs the queues, timers and threads of several clients one at a time, in
// virtual time.
//
// Invariants:
//  - At any time, at most one thread of a simulation executes. It has the turn. The others wait until they
//    are given the turn.
//  - Bodies that are due at the same time run in the order in which they were submitted.
//  - Time passes only while no body is due and no thread executes.

internal import ByteStore

/// A scheduler that also takes the place of dispatch queues and of threads that block.
package protocol Simulation: SyncScheduler, AnyObject {
  /// Runs bodies that are due now on the calling thread, until `isOver` returns true or no body is due.
  func drain(until isOver: () -> Bool)

  /// Runs `body` on the calling thread, when all bodies that were submitted before have run.
  func perform(_ body: () -> Void)

  /// Runs `body` on a thread of its own, which may call `suspend`.
  func startThread(_ body: @escaping @Sendable () -> Void)

  /// Blocks the calling thread, and calls `begin` with a closure that resumes it.
  func suspend(_ begin: (_ resume: @escaping @Sendable () -> Void) -> Void)

  /// Runs `body` after this time. A caller waits for `body`, so the time passes even if nothing else happens.
  func pause(_ microseconds: Int64, then body: @escaping @Sendable () -> Void)

  /// Stops the time until `body` was submitted by the closure that this returns. Calls from threads outside
  /// the simulation use it, so that time does not pass while they work.
  func hold() -> @Sendable (_ body: @escaping @Sendable () -> Void) -> Void

  /// Returns the next random number of the simulation.
  func random() -> UInt64
}

extension Simulation {
  /// Calls `begin`, and blocks the calling thread until `done` was called with a value.
  package func wait<Value: Sendable>(
    _ begin: (_ done: @escaping @Sendable (Value) -> Void) -> Void
  ) -> Value {
    let result = Locked<Value?>(nil)
    suspend { resume in
      begin { value in
        result.withLock { $0 = value }
        resume()
      }
    }
    guard let value = result.withLock({ $0 }) else {
      preconditionFailure("a thread of the simulation was resumed without a value")
    }
    return value
  }
}

extension SyncScheduler {
  package var simulation: (any Simulation)? { nil }
}
