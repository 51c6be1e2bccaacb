// After a listener is removed, no handler starts, and no thread waits forever.

import ByteStore
import Dispatch
import Harness
import Testing

@testable import DocumentStore

@Suite struct LiveRemovalTests {
  private let store: DocumentStore
  private let rooms = path("rooms", "x").parent

  init() throws { store = try SimulatedStore().store }

  private func write(_ number: Int) throws {
    try store.commit([.set(path("rooms", "a"), StoredMap([("n", .integer(Int64(number)))]))])
  }

  /// Guards against a delayed handler that starts after the removal has returned.
  @Test func noHandlerStartsAfterARemovalByAnotherThread() throws {
    let queue = DispatchQueue(label: "listeners")
    let isLate = Locked(0)
    for round in 0..<300 {
      let isRemoved = Locked(false)
      let registration = try store.listen(to: StructuredQuery(.collection(rooms)), on: queue) { _ in
        if isRemoved.withLock({ $0 }) { isLate.withLock { $0 += 1 } }
      }
      try write(round)
      for _ in 0..<round % 7 { WorkerThread.yield() }
      registration.remove()
      isRemoved.withLock { $0 = true }
    }
    queue.sync {}
    #expect(isLate.withLock { $0 } == 0)
  }

  @Test(.timeLimit(.minutes(5))) func removalDoesNotDeadlockWithAHandlerWaitingForIt() throws {
    let isRunning = DispatchSemaphore(value: 0)
    let isRemoved = DispatchSemaphore(value: 0)
    let queue = DispatchQueue(label: "listeners")
    let registration = try store.listen(to: StructuredQuery(.collection(rooms)), on: queue) { _ in
      isRunning.signal()
      isRemoved.wait()
    }
    isRunning.wait()
    registration.remove()
    isRemoved.signal()
    queue.sync {}
  }
}
