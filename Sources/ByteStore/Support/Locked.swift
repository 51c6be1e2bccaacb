// The one lock of the engine: a state, and the only ways to reach it.

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
/// waits for its group needs the condition. What is done inside takes microseconds, so that a thread that finds it
/// taken looks again for a moment before it sleeps, where the system has such locks: to sleep and be woken takes longer.
/// Never call code of the user inside `withLock`.
@safe
package final class Locked<State>: @unchecked Sendable {
  // `state` is only touched between lock and unlock of `mutex`; that is what makes it Sendable. It is in memory of
  // its own, because the lock already sees to it that accesses exclude each other: checks of the language for it
  // would cost as much as the lock.
  private let state: UnsafeMutablePointer<State>
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let changed: UnsafeMutablePointer<pthread_cond_t>

  package init(_ initial: State) {
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: initial)
    unsafe mutex = .allocate(capacity: 1)
    unsafe changed = .allocate(capacity: 1)
    var attributes = pthread_mutexattr_t()
    var made = unsafe pthread_mutexattr_init(&attributes)
    #if canImport(Glibc)
    made |= unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
    #endif
    made |= unsafe pthread_mutex_init(mutex, &attributes) | pthread_cond_init(changed, nil)
    unsafe pthread_mutexattr_destroy(&attributes)
    precondition(made == 0, "a lock could not be made: the process is out of resources")
  }

  deinit {
    unsafe pthread_cond_destroy(changed)
    unsafe pthread_mutex_destroy(mutex)
    unsafe changed.deallocate()
    unsafe mutex.deallocate()
    unsafe state.deinitialize(count: 1)
    unsafe state.deallocate()
  }

  package func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try unsafe body(&state.pointee)
  }

  /// Sleeps until `condition` holds, then runs `body` without letting go of the lock in between.
  package func withLock<Result, Failure: Error>(
    when condition: (borrowing State) -> Bool, _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    while unsafe !condition(state.pointee) { unsafe pthread_cond_wait(changed, mutex) }
    return try unsafe body(&state.pointee)
  }

  /// The same, for a thread that only `signal` wakes, and not `wakeAll`.
  package func withLock<Result, Failure: Error>(
    wokenBy signal: Signal, when condition: (borrowing State) -> Bool,
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    while unsafe !condition(state.pointee) { unsafe pthread_cond_wait(signal.condition, mutex) }
    return try unsafe body(&state.pointee)
  }

  /// The same, but for so many nanoseconds at most: then `body` runs though the condition does not hold.
  package func withLock<Result, Failure: Error>(
    wokenBy signal: Signal, within nanoseconds: UInt64, when condition: (borrowing State) -> Bool,
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    var wait = TimedWait(nanoseconds)
    while unsafe !condition(state.pointee) {
      guard unsafe wait.isWoken(on: signal.condition, mutex) else { break }
    }
    return try unsafe body(&state.pointee)
  }

  /// Lets every thread that waits look at its condition again, but for those with a signal of their own.
  package func wakeAll() {
    unsafe pthread_cond_broadcast(changed)
  }
}

/// Wakes one thread that waits for a lock's state to change. Where many wait and each for its own, waking
/// all of them would have each fight for the lock only to sleep again.
@safe
package final class Signal: @unchecked Sendable {
  // A condition is made to be used by several threads; it is never replaced.
  fileprivate let condition: UnsafeMutablePointer<pthread_cond_t>

  package init() {
    unsafe condition = .allocate(capacity: 1)
    #if canImport(Darwin)
    let made = unsafe pthread_cond_init(condition, nil)
    #else
    // Else a wait with an end would follow the wall clock, which is set back and forth.
    var attributes = pthread_condattr_t()
    let made =
      unsafe pthread_condattr_init(&attributes)
      | pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) | pthread_cond_init(condition, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
    #endif
    precondition(made == 0, "a signal could not be made: the process is out of resources")
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe condition.deallocate()
  }

  /// To be called after the change, with the lock or without it.
  package func wake() {
    unsafe pthread_cond_signal(condition)
  }
}

/// A wait for a signal, until some moment at most.
private struct TimedWait {
  #if canImport(Darwin)
  private let end: UInt64

  init(_ nanoseconds: UInt64) { end = clock_gettime_nsec_np(CLOCK_UPTIME_RAW) + nanoseconds }

  /// False once the time is up.
  mutating func isWoken(
    on condition: UnsafeMutablePointer<pthread_cond_t>, _ mutex: UnsafeMutablePointer<pthread_mutex_t>
  ) -> Bool {
    let now = clock_gettime_nsec_np(CLOCK_UPTIME_RAW)
    guard now < end else { return false }
    var left = timespec(tv_sec: Int((end - now) / 1_000_000_000), tv_nsec: Int((end - now) % 1_000_000_000))
    return unsafe pthread_cond_timedwait_relative_np(condition, mutex, &left) != ETIMEDOUT
  }
  #else
  private var end = timespec()

  init(_ nanoseconds: UInt64) {
    unsafe clock_gettime(CLOCK_MONOTONIC, &end)
    let sum = UInt64(end.tv_nsec) + nanoseconds
    end.tv_sec += Int(sum / 1_000_000_000)
    end.tv_nsec = Int(sum % 1_000_000_000)
  }

  /// False once the time is up.
  mutating func isWoken(
    on condition: UnsafeMutablePointer<pthread_cond_t>, _ mutex: UnsafeMutablePointer<pthread_mutex_t>
  ) -> Bool {
    unsafe pthread_cond_timedwait(condition, mutex, &end) != ETIMEDOUT
  }
  #endif
}
