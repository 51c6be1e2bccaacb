// The lock that all modules use. The state that it protects is only reachable while the lock is held.

public import Libc

/// A value that only one thread at a time can access, and condition variables for waiting until it changes.
///
/// Built on a pthread mutex and condition, because the thread sanitizer understands both, and because a
/// commit that waits for its group needs the condition. Critical sections take microseconds, which is less
/// than sleeping and waking up would take. Where the system has adaptive mutexes, a contended thread
/// therefore spins briefly before it sleeps. Never call user code inside `withLock`.
@safe
package struct Locked<State>: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: `storage` is never replaced. Its mutex and condition may be used by
  // several threads. The state in it is only touched while the mutex is locked. The caller of `init` gives up
  // the state, and no caller lets a reference into the state escape from `withLock`.
  @usableFromInline
  let storage: LockStorage<State>

  @inlinable
  package init(_ initial: State) { storage = LockStorage.make(initial) }

  @inlinable
  package func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(storage.mutex)
    defer { storage.unlock() }
    return try unsafe body(&storage.state.pointee)
  }

  /// Sleeps until `condition` holds, then runs `body` without releasing the lock in between.
  @inlinable
  package func withLock<Result, Failure: Error>(
    when condition: (borrowing State) -> Bool, _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(storage.mutex)
    defer { storage.unlock() }
    while unsafe !condition(storage.state.pointee) {
      unsafe pthread_cond_wait(storage.changed, storage.mutex)
    }
    return try unsafe body(&storage.state.pointee)
  }

  /// Does the same as `withLock(when:_:)`, except that only `signal` wakes the thread; `wakeAll` does not.
  @inlinable
  package func withLock<Result, Failure: Error>(
    wokenBy signal: Signal, when condition: (borrowing State) -> Bool,
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(storage.mutex)
    defer { storage.unlock() }
    while unsafe !condition(storage.state.pointee) {
      unsafe pthread_cond_wait(signal.condition, storage.mutex)
    }
    return try unsafe body(&storage.state.pointee)
  }

  /// Does the same as `withLock(wokenBy:when:_:)`, but with a timeout. After the timeout, `body` runs even if
  /// the condition is false.
  package func withLock<Result, Failure: Error>(
    wokenBy signal: Signal, within nanoseconds: UInt64, when condition: (borrowing State) -> Bool,
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(storage.mutex)
    defer { storage.unlock() }
    var wait = TimedWait(nanoseconds)
    while unsafe !condition(storage.state.pointee) {
      guard unsafe wait.waitOnce(on: signal.condition, storage.mutex) else { break }
    }
    return try unsafe body(&storage.state.pointee)
  }

  /// Makes every waiting thread check its condition again, except threads that wait on a `Signal`.
  package func wakeAll() {
    unsafe pthread_cond_broadcast(storage.changed)
  }
}

/// A mutex, a condition variable, and the state that the mutex protects, in one allocation.
///
/// With one allocation, a cold lock causes fewer cache misses. The state is not a stored property of a class,
/// because Swift's exclusivity checks would cost as much as the lock, which already excludes concurrent
/// access. All code that runs during a lock operation can be inlined. `deinit` cannot, and is compiled once
/// for all types of state. The mutex and the condition are therefore in a type that is not generic. Otherwise
/// each release of a lock would look up their type at run time.
@usableFromInline
@safe
final class LockStorage<State>: ManagedBuffer<LockHead, State> {
  @inlinable
  static func make(_ initial: State) -> LockStorage {
    let buffer = create(minimumCapacity: 1) { _ in LockHead() }
    // This downcast is safe, because `create` returns an instance of the class that it is called on.
    let storage = unsafe unsafeDowncast(buffer, to: LockStorage.self)
    unsafe LockHead.initialize(storage.mutex, storage.changed)
    unsafe storage.state.initialize(to: initial)
    return storage
  }

  deinit {
    unsafe LockHead.destroy(mutex, changed)
    unsafe state.deinitialize(count: 1)
  }

  @inlinable
  func unlock() {
    unsafe pthread_mutex_unlock(mutex)
    withExtendedLifetime(self) {}
  }

  // These pointers point into this object and are only used while it is alive. `unlock` is the last use and
  // keeps the object alive until then. Offsets are computed, because key paths would be looked up at run time
  // in unoptimised builds.

  @inlinable
  var mutex: UnsafeMutablePointer<pthread_mutex_t> {
    unsafe UnsafeMutableRawPointer(head).assumingMemoryBound(to: pthread_mutex_t.self)
  }

  @inlinable
  var changed: UnsafeMutablePointer<pthread_cond_t> {
    unsafe (UnsafeMutableRawPointer(head) + MemoryLayout<pthread_mutex_t>.size)
      .alignedUp(for: pthread_cond_t.self).assumingMemoryBound(to: pthread_cond_t.self)
  }

  @inlinable
  var head: UnsafeMutablePointer<LockHead> { unsafe withUnsafeMutablePointerToHeader { unsafe $0 } }

  @inlinable
  var state: UnsafeMutablePointer<State> { unsafe withUnsafeMutablePointerToElements { unsafe $0 } }
}

/// The parts of a lock that do not depend on the type of its state.
@usableFromInline
@safe
struct LockHead {
  @usableFromInline
  var mutex: pthread_mutex_t
  @usableFromInline
  var changed: pthread_cond_t

  @inlinable
  init() {
    unsafe mutex = pthread_mutex_t()
    changed = pthread_cond_t()
  }

  /// Both pointers must point to zeroed memory that stays where it is until `destroy`.
  @usableFromInline
  static func initialize(
    _ mutex: UnsafeMutablePointer<pthread_mutex_t>, _ changed: UnsafeMutablePointer<pthread_cond_t>
  ) {
    var attributes = pthread_mutexattr_t()
    var failure = unsafe pthread_mutexattr_init(&attributes)
    #if canImport(Glibc)
    failure |= unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
    #endif
    failure |= unsafe pthread_mutex_init(mutex, &attributes) | pthread_cond_init(changed, nil)
    unsafe pthread_mutexattr_destroy(&attributes)
    precondition(failure == 0, "a lock could not be created: the process is out of resources")
  }

  /// The lock must be unlocked, and no thread may wait for the condition.
  static func destroy(
    _ mutex: UnsafeMutablePointer<pthread_mutex_t>, _ changed: UnsafeMutablePointer<pthread_cond_t>
  ) {
    unsafe pthread_cond_destroy(changed)
    unsafe pthread_mutex_destroy(mutex)
  }
}

/// A condition variable for one waiting thread. If many threads wait for different changes, waking all of
/// them would only make them compete for the lock and sleep again.
@safe
package final class Signal: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: several threads may use a pthread condition, and the pointer is
  // never replaced.
  @usableFromInline
  let condition: UnsafeMutablePointer<pthread_cond_t>

  package init() {
    unsafe condition = .allocate(capacity: 1)
    #if canImport(Darwin)
    let failure = unsafe pthread_cond_init(condition, nil)
    #else
    // A timed wait needs the monotonic clock. By default it follows the wall clock, which can be set forwards
    // and backwards.
    var attributes = pthread_condattr_t()
    let failure =
      unsafe pthread_condattr_init(&attributes)
      | pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) | pthread_cond_init(condition, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
    #endif
    precondition(failure == 0, "a signal could not be created: the process is out of resources")
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe condition.deallocate()
  }

  /// Wakes the waiting thread. Call this after the change that the thread waits for, with or without holding
  /// the lock.
  package func wake() {
    unsafe pthread_cond_signal(condition)
  }
}

/// A deadline for waits on a signal.
private struct TimedWait {
  #if canImport(Darwin)
  private let end: UInt64

  init(_ nanoseconds: UInt64) { end = clock_gettime_nsec_np(CLOCK_UPTIME_RAW) + nanoseconds }

  /// Waits; returns false once the deadline has passed.
  mutating func waitOnce(
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

  /// Waits; returns false once the deadline has passed.
  mutating func waitOnce(
    on condition: UnsafeMutablePointer<pthread_cond_t>, _ mutex: UnsafeMutablePointer<pthread_mutex_t>
  ) -> Bool {
    unsafe pthread_cond_timedwait(condition, mutex, &end) != ETIMEDOUT
  }
  #endif
}
