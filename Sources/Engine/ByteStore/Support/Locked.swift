// The lock of the engine: a state, and the only ways to reach it.

#if canImport(Darwin)
public import Darwin
#elseif canImport(Musl)
public import Musl
#else
public import Glibc
#endif

/// A value that only one thread at a time can reach, and on whose changes a thread can wait.
///
/// It stands on a pthread mutex and condition: the thread sanitizer follows both, and a commit that
/// waits for its group needs the condition. What is done inside takes microseconds, so that a thread that finds it
/// taken looks again for a moment before it sleeps, where the system has such locks: to sleep and be woken takes longer.
/// Never call code of the user inside `withLock`.
@safe
package struct Locked<State>: @unchecked Sendable {
  // Why @unchecked Sendable holds: `storage` is never replaced, its mutex and condition are made for several threads, and the
  // state in it is only touched between lock and unlock of the mutex. Who calls `init` gives the state away, and lets nothing
  // out of `withLock` that leads back into it.
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

  /// Sleeps until `condition` holds, then runs `body` without letting go of the lock in between.
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

  /// The same, for a thread that only `signal` wakes, and not `wakeAll`.
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

  /// The same, but for so many nanoseconds at most: then `body` runs though the condition does not hold.
  package func withLock<Result, Failure: Error>(
    wokenBy signal: Signal, within nanoseconds: UInt64, when condition: (borrowing State) -> Bool,
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(storage.mutex)
    defer { storage.unlock() }
    var wait = TimedWait(nanoseconds)
    while unsafe !condition(storage.state.pointee) {
      guard unsafe wait.isWoken(on: signal.condition, storage.mutex) else { break }
    }
    return try unsafe body(&storage.state.pointee)
  }

  /// Lets every thread that waits look at its condition again, but for those with a signal of their own.
  package func wakeAll() {
    unsafe pthread_cond_broadcast(storage.changed)
  }
}

/// A mutex, the state behind it, and a condition, in one piece of memory: where nothing of it is in the processor's
/// caches, each further piece would be waited for. The state is no stored property of a class, as the lock already sees
/// to it that accesses exclude each other: checks of the language for it would cost as much as the lock. All that a use
/// of the lock takes can be inlined: where the type of the state is not known, its place would be looked up each time.
@usableFromInline
@safe
final class LockStorage<State>: ManagedBuffer<pthread_mutex_t, LockedPart<State>> {
  @usableFromInline
  static func make(_ initial: State) -> LockStorage {
    let made = unsafe create(minimumCapacity: 1) { _ in unsafe pthread_mutex_t() }
    // What `create` makes is of the class that it is called on.
    let storage = unsafe unsafeDowncast(made, to: LockStorage.self)
    unsafe storage.part.initialize(to: LockedPart(state: initial, changed: pthread_cond_t()))
    var attributes = pthread_mutexattr_t()
    var failure = unsafe pthread_mutexattr_init(&attributes)
    #if canImport(Glibc)
    failure |= unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
    #endif
    failure |= unsafe pthread_mutex_init(storage.mutex, &attributes) | pthread_cond_init(storage.changed, nil)
    unsafe pthread_mutexattr_destroy(&attributes)
    precondition(failure == 0, "a lock could not be made: the process is out of resources")
    return storage
  }

  deinit {
    unsafe pthread_cond_destroy(changed)
    unsafe pthread_mutex_destroy(mutex)
    unsafe part.deinitialize(count: 1)
  }

  @inlinable
  func unlock() {
    unsafe pthread_mutex_unlock(mutex)
    withExtendedLifetime(self) {}
  }

  @inlinable
  var mutex: UnsafeMutablePointer<pthread_mutex_t> { unsafe withUnsafeMutablePointerToHeader { unsafe $0 } }

  // Pointers lead into this very object, and are used while it is held: `unlock`, the last use, sees to that. Offsets are
  // worked out, as key paths would be looked up in builds without optimisation.

  @inlinable
  var state: UnsafeMutablePointer<State> {
    unsafe UnsafeMutableRawPointer(part).assumingMemoryBound(to: State.self)
  }

  @inlinable
  var changed: UnsafeMutablePointer<pthread_cond_t> {
    unsafe (UnsafeMutableRawPointer(part) + MemoryLayout<State>.size).alignedUp(for: pthread_cond_t.self)
      .assumingMemoryBound(to: pthread_cond_t.self)
  }

  @inlinable
  var part: UnsafeMutablePointer<LockedPart<State>> {
    unsafe withUnsafeMutablePointerToElements { unsafe $0 }
  }
}

@usableFromInline
struct LockedPart<State> {
  @usableFromInline
  var state: State
  @usableFromInline
  var changed: pthread_cond_t

  @usableFromInline
  init(state: State, changed: pthread_cond_t) {
    self.state = state
    self.changed = changed
  }
}

/// Wakes one thread that waits for a lock's state to change. Where many wait and each for its own, waking
/// all of them would have each fight for the lock only to sleep again.
@safe
package final class Signal: @unchecked Sendable {
  // A condition is made to be used by several threads; it is never replaced.
  @usableFromInline
  let condition: UnsafeMutablePointer<pthread_cond_t>

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
