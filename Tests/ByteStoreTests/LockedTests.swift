// Waits, signals, memory layout and lifetime of the lock.

import Harness
import Testing

@testable import ByteStore

@Suite("Waits for a lock's state")
struct LockedTests {
  @Test("a wait with a deadline runs its body at the deadline without a signal")
  func timeoutRunsTheBody() {
    let state = Locked(0)
    let start = ContinuousClock.now
    let found = state.withLock(wokenBy: Signal(), within: 20_000_000, when: { $0 > 0 }) { $0 }
    #expect(found == 0)
    #expect(ContinuousClock.now - start >= .milliseconds(20))
  }

  @Test("a signal ends it earlier")
  func signalEndsTheWaitEarly() {
    let state = Locked(0)
    let signal = Signal()
    let thread = WorkerThread {
      state.withLock { $0 = 1 }
      signal.wake()
    }
    let start = ContinuousClock.now
    let found = state.withLock(wokenBy: signal, within: 60_000_000_000, when: { $0 > 0 }) { $0 }
    thread.join()
    #expect(found == 1)
    #expect(ContinuousClock.now - start < .seconds(30))
  }

  @Test("a condition that holds needs no wait, and a zero timeout does not wait")
  func conditionThatHoldsOrZeroTimeoutDoesNotWait() {
    let state = Locked(1)
    #expect(state.withLock(wokenBy: Signal(), within: 60_000_000_000, when: { $0 > 0 }) { $0 } == 1)
    #expect(state.withLock(wokenBy: Signal(), within: 0, when: { $0 > 1 }) { $0 } == 1)
  }

  @Test("a state of any size and alignment keeps its value beside the mutex and the condition")
  func lockStoresStatesOfAnySizeAndAlignment() {
    checkLayout(of: UInt8(1), UInt8(7))
    checkLayout(of: Bool?.none, true)
    checkLayout(of: SIMD4<UInt32>.zero, SIMD4(1, 2, 3, 4))
    checkLayout(of: Odd(wide: .zero, narrow: 0), Odd(wide: SIMD2(.max, 1), narrow: 7))
    checkLayout(of: [1, 2, 3], [4, 5, 6])
    checkLayout(of: String(repeating: "a", count: 100), "b")
    let nothing = Locked(())
    nothing.wakeAll()
    #expect(nothing.withLock(when: { _ in true }) { _ in true })
  }

  /// A type with a size of 17 bytes and a stride of 32.
  private struct Odd: Equatable, Sendable {
    var wide: SIMD2<UInt64>
    var narrow: UInt8
  }

  private func checkLayout<State: Equatable & Sendable>(of first: State, _ second: State) {
    let storage = LockStorage.make(first)
    let head = UnsafeRawPointer(storage.head)
    #expect(UnsafeRawPointer(storage.mutex) - head == MemoryLayout<LockHead>.offset(of: \.mutex))
    #expect(UnsafeRawPointer(storage.changed) - head == MemoryLayout<LockHead>.offset(of: \.changed))
    // The state is behind the head, and aligned.
    let place = UnsafeRawPointer(storage.state)
    #expect(place - head >= MemoryLayout<LockHead>.size, "\(State.self)")
    #expect(UInt(bitPattern: place) % UInt(MemoryLayout<State>.alignment) == 0, "\(State.self)")
    let state = Locked(first)
    let thread = WorkerThread {
      for _ in 0..<1000 { state.withLock { $0 = first } }
      state.withLock { $0 = second }
      state.wakeAll()
    }
    #expect(state.withLock(when: { $0 == second }) { $0 } == second)
    thread.join()
    #expect(state.withLock { $0 } == second)
  }

  @Test("the state is freed with the last reference to the lock, and not before")
  func stateIsFreedWithTheLastReferenceToTheLock() {
    final class Probe: Sendable {}
    weak var probe: Probe?
    do {
      let state = Locked<Probe?>(Probe())
      let other = state
      probe = state.withLock { $0 }
      #expect(probe != nil)
      withExtendedLifetime(other) {}
    }
    #expect(probe == nil)
  }
}
