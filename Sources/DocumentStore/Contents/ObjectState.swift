// What all who use the objects of a store have in common.

import ByteStore

/// Usable from any thread.
final class ObjectState: Sendable {
  let latches = ContentLatches()
  /// Uploads that somebody works at: a sweep leaves them alone.
  let activeUploads = Locked<Set<StagedNumber>>([])
  /// Held by a sweep: what one moves, another must not take for nobody's.
  let sweeping = Locked(Sweeping())

  struct Sweeping { private let place: UInt8 = 0 }

  private struct Puts {
    var next: UInt64 = 0
    var underWay: Set<UInt64> = []
  }

  private let puts = Locked(Puts())

  /// From before a content gets its place until its record is committed, or not.
  func beginPut() -> UInt64 {
    puts.withLock { puts in
      defer { puts.next += 1 }
      puts.underWay.insert(puts.next)
      return puts.next
    }
  }

  func endPut(_ number: UInt64) {
    puts.withLock { _ = $0.underWay.remove(number) }
    puts.wakeAll()
  }

  /// Returns when all that are under way now have ended.
  func waitForPuts() {
    let end = puts.withLock { $0.next }
    puts.withLock(when: { puts in puts.underWay.allSatisfy { $0 >= end } }) { _ in }
  }
}
