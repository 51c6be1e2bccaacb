// The one lock of the engine: a state, and the only two ways to reach it.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A value that only one thread at a time can reach, and on whose changes a thread can wait.
///
/// It stands on a pthread mutex and condition: the thread sanitizer follows both, and a commit that
/// waits for its group needs the condition. Never call code of the user inside `withLock`.
@safe
package final class Locked<State>: @unchecked Sendable {
  // `state` is only touched between lock and unlock of `mutex`; that is what makes it Sendable.
  private var state: State
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let changed: UnsafeMutablePointer<pthread_cond_t>

  package init(_ initial: State) {
    state = initial
    unsafe mutex = .allocate(capacity: 1)
    unsafe changed = .allocate(capacity: 1)
    let made = unsafe pthread_mutex_init(mutex, nil) | pthread_cond_init(changed, nil)
    precondition(made == 0, "a lock could not be made: the process is out of resources")
  }

  deinit {
    unsafe pthread_cond_destroy(changed)
    unsafe pthread_mutex_destroy(mutex)
    unsafe changed.deallocate()
    unsafe mutex.deallocate()
  }

  package func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try body(&state)
  }

  /// Sleeps until `condition` holds, then runs `body` without letting go of the lock in between.
  package func withLock<Result, Failure: Error>(
    when condition: (borrowing State) -> Bool, _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    while !condition(state) { unsafe pthread_cond_wait(changed, mutex) }
    return try body(&state)
  }

  /// Lets every thread that waits look at its condition again.
  package func wakeAll() {
    unsafe pthread_cond_broadcast(changed)
  }
}
