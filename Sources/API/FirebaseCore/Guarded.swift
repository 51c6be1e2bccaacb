// The lock of the API modules, which encloses the state that it protects.

import Foundation

/// A value that only one thread at a time can access.
///
/// It uses `NSLock`, because the thread sanitizer on Linux understands it and misjudges `Mutex`. Inside
/// `withLock`, do not call user code, and do not call `withLock` of the same value.
package final class Guarded<State: Sendable>: @unchecked Sendable {
  // Unchecked, because `state` is only touched while `lock` is held.
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
