// The try-lock of the commit path.

import ByteStore
import Dispatch
import Testing

@testable import DocumentStore

@Suite struct TryLockTests {
  @Test func aTakenLockIsSkipped() {
    let lock = TryLock(1)
    let inside = lock.withLock { number -> Int? in
      number += 1
      return lock.withLockIfAvailable { $0 }
    }
    #expect(inside == nil)
    #expect(lock.withLockIfAvailable { $0 } == 2)
    let nested = lock.withLockIfAvailable { _ in lock.withLockIfAvailable { $0 } }
    #expect(nested == .some(nil))
    #expect(lock.withLockIfAvailable { $0 } == 2)
  }

  @Test func onlyOneThreadHoldsTheLock() {
    struct Pair { var (left, right) = (0, 0) }
    let lock = TryLock(Pair())
    let passed = Locked(0)
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for _ in 0..<20_000 {
        let add = { (pair: inout Pair) in
          pair.left += 1
          let left = pair.left
          pair.right += 1
          precondition(pair.right == left, "two threads have it")
        }
        if thread < 2 {
          lock.withLock(add)
        } else if lock.withLockIfAvailable(add) == nil {
          passed.withLock { $0 += 1 }
        }
      }
    }
    let pair = lock.withLock { $0 }
    #expect(pair.left == 8 * 20_000 - passed.withLock { $0 })
  }

  @Test func theStateIsFreedWithTheLock() {
    final class Kept: Sendable {}
    weak var kept: Kept?
    do {
      let lock = TryLock(Kept())
      kept = lock.withLock { $0 }
      #expect(kept != nil)
    }
    #expect(kept == nil)
  }
}
