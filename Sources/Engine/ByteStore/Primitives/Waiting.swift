// The blocking form of calls that begin at once and report their result to a closure.

import Dispatch

/// Begins a call, and blocks the caller's thread until the call passes its result to `done`. The call must
/// call `done` exactly once, on any thread. If it needs a queue that the caller occupies, the wait never
/// ends.
package func waitForValue<Value: Sendable>(
  _ begin: (_ done: @escaping @Sendable (Value) -> Void) -> Void
) -> Value {
  let result = Locked<Value?>(nil)
  let isDone = DispatchSemaphore(value: 0)
  begin { value in
    result.withLock { $0 = value }
    isDone.signal()
  }
  isDone.wait()
  guard let value = result.withLock({ $0 }) else { preconditionFailure("done is called with a value") }
  return value
}
