// The one lock of the API band: a state, and the only way to reach it.

import Foundation

/// A value that only one thread at a time can reach.
///
/// It stands on `NSLock`, because the thread sanitizer follows that on Linux and misjudges `Mutex`
/// there. Never call code of the user inside `withLock`, nor `withLock` of the same value again.
package final class Guarded<State: Sendable>: @unchecked Sendable {
  // `state` is only touched between lock and unlock of `lock`; that is what makes it Sendable.
  private var state: State
  private let lock = NSLock()

  package init(_ initial: State) {
    state = initial
  }

  package func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&state)
  }
}
