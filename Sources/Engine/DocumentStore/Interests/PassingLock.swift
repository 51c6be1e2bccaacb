// A lock that whoever only passes by does not wait for.

import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A value that one thread at a time can reach. One that would have to wait goes on without it, where that will do; to take
/// it and to give it back are two instructions then, and no call.
@safe
struct PassingLock<State>: ~Copyable, @unchecked Sendable {
  // Why @unchecked Sendable holds: the pointer is never replaced, and the state behind it is only touched by who has set the
  // flag, until that is cleared. Who calls `init` gives the state away.
  private let isTaken = Atomic(false)
  private let state: UnsafeMutablePointer<State>

  init(_ initial: State) {
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: initial)
  }

  deinit {
    unsafe state.deinitialize(count: 1)
    unsafe state.deallocate()
  }

  /// Nil if another thread has it.
  @inline(__always)
  func withLockIfFree<Result>(_ body: (inout State) -> Result) -> Result? {
    guard take() else { return nil }
    defer { isTaken.store(false, ordering: .releasing) }
    return unsafe body(&state.pointee)
  }

  /// For what is rare.
  func withLock<Result>(_ body: (inout State) -> Result) -> Result {
    var rounds = 0
    while !take() {
      rounds += 1
      if rounds < 100 { sched_yield() } else { usleep(50) }
    }
    defer { isTaken.store(false, ordering: .releasing) }
    return unsafe body(&state.pointee)
  }

  @inline(__always)
  private func take() -> Bool {
    isTaken.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
  }
}
