// A try-lock: the commit path skips the critical section instead of waiting.

import Libc
import Synchronization

/// A value that is protected by a lock. The fast path does not wait if another thread holds the lock. Locking
/// and unlocking take one instruction each and no function call.
@safe
struct TryLock<State>: ~Copyable, @unchecked Sendable {
  // `@unchecked Sendable` is correct because the pointer is never replaced, and because only the thread that
  // has set the flag accesses the state until it clears the flag. The caller of `init` must not use the state
  // afterwards.
  private let isLocked = Atomic(false)
  private let state: UnsafeMutablePointer<State>

  init(_ initial: State) {
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: initial)
  }

  deinit {
    unsafe state.deinitialize(count: 1)
    unsafe state.deallocate()
  }

  /// Nil if another thread has the lock.
  @inline(__always)
  func withLockIfAvailable<Result>(_ body: (inout State) -> Result) -> Result? {
    guard take() else { return nil }
    defer { isLocked.store(false, ordering: .releasing) }
    return unsafe body(&state.pointee)
  }

  /// Waits for the lock. For rare operations only.
  func withLock<Result>(_ body: (inout State) -> Result) -> Result {
    var rounds = 0
    while !take() {
      rounds += 1
      if rounds < 100 { sched_yield() } else { usleep(50) }
    }
    defer { isLocked.store(false, ordering: .releasing) }
    return unsafe body(&state.pointee)
  }

  @inline(__always)
  private func take() -> Bool {
    isLocked.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
  }
}
