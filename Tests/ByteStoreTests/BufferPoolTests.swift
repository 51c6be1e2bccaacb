// Buffers of the pool are used by one reader at a time, and used again.

import Harness
import Testing

@testable import ByteStore

@Suite("Pooled buffers")
struct BufferPoolTests {
  @Test("are used again, and no two readers have the same one")
  func buffersAreUsedAgain() {
    let pool = BufferPool()
    let (first, second) = (pool.take(), pool.take())
    #expect(first !== second)
    pool.recycle(first)
    pool.recycle(second)
    let (third, fourth) = (pool.take(), pool.take())
    #expect(third !== fourth)
    #expect([third, fourth].allSatisfy { $0 === first || $0 === second })
  }

  @Test("are never with two threads at once")
  func threadsHaveBuffersOfTheirOwn() {
    let pool = BufferPool()
    let used = Locked<Set<ObjectIdentifier>>([])
    let shared = Locked(0)
    let threads = (0..<4).map { _ in
      WorkerThread {
        for _ in 0..<5000 {
          let buffer = pool.take()
          if !used.withLock({ $0.insert(ObjectIdentifier(buffer)).inserted }) { shared.withLock { $0 += 1 } }
          used.withLock { _ = $0.remove(ObjectIdentifier(buffer)) }
          pool.recycle(buffer)
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(shared.withLock { $0 } == 0)
  }
}
