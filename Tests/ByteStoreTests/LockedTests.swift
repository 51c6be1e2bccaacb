import ByteStore
import Harness
import Testing

@Suite("Waits for a lock's state")
struct LockedTests {
  @Test("a wait with an end runs its body at the end, though nothing has happened")
  func timeIsUp() {
    let state = Locked(0)
    let start = ContinuousClock.now
    let found = state.withLock(wokenBy: Signal(), within: 20_000_000, when: { $0 > 0 }) { $0 }
    #expect(found == 0)
    #expect(ContinuousClock.now - start >= .milliseconds(20))
  }

  @Test("a signal ends it sooner")
  func signal() {
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

  @Test("what holds already is not waited for, and no time is none")
  func atOnce() {
    let state = Locked(1)
    #expect(state.withLock(wokenBy: Signal(), within: 60_000_000_000, when: { $0 > 0 }) { $0 } == 1)
    #expect(state.withLock(wokenBy: Signal(), within: 0, when: { $0 > 1 }) { $0 } == 1)
  }
}
