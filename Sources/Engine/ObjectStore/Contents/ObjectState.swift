// Shared in-memory state of a store's objects.

import ByteStore
import DocumentStore

/// Usable from any thread.
final class ObjectState: StoreAttachment {
  let latches = ContentLatches()
  let garbage = Locked(PackGarbage())
  /// Downloads that are running.
  let activeDownloads = Locked<Set<RandomID>>([])
  /// Running uploads, which a sweep must leave alone.
  let uploads = UploadClaims()
  /// Held from the assignment of a queued change's number until the change is committed, so that numbers
  /// follow the commit order.
  let queueing = Locked(Queueing())

  struct Queueing {
    /// The last assigned number; nil before the first lookup.
    var last: Int64?
  }

  /// Held by a sweep. While one sweep moves contents, a second sweep could mistake these contents for
  /// unreferenced ones.
  let sweeping = Locked(Sweeping())

  struct Sweeping { private let place: UInt8 = 0 }

  /// Monotonic time at which the last sweep started. Before the first sweep, the time at which `isSweepDue`
  /// was first read.
  let lastSweep = Locked<UInt64?>(nil)

  /// Contents that a read found damaged. A new upload of such a content replaces the stored bytes. The set is
  /// bounded. If an entry is evicted, the next read of the content finds the damage again.
  private let damaged = Locked<Set<BlobID>>([])
  private static let damagedMax = 4096

  /// Contents that were uploaded again and therefore verified since the store was opened, with the place that
  /// was verified. The number of entries is bounded. If an entry is evicted, the content is verified again.
  private let intact = Locked<[BlobID: BlobLocation]>([:])
  private static let intactMax = 4096

  func isKnownIntact(_ id: BlobID, at place: BlobLocation) -> Bool { intact.withLock { $0[id] == place } }

  func noteIntact(_ id: BlobID, at place: BlobLocation) {
    intact.withLock { intact in
      if intact.count >= Self.intactMax, intact[id] == nil { _ = intact.popFirst() }
      intact[id] = place
    }
  }

  func isKnownDamaged(_ id: BlobID) -> Bool { damaged.withLock { $0.contains(id) } }

  func noteDamage(of id: BlobID) {
    intact.withLock { $0[id] = nil }
    damaged.withLock { damaged in
      if damaged.count >= Self.damagedMax, !damaged.contains(id) { _ = damaged.popFirst() }
      damaged.insert(id)
    }
  }

  /// Called when a damaged content was found but is not identified. Afterwards, no content counts as
  /// verified.
  func didFindDamagedBlobs() { intact.withLock { $0.removeAll() } }

  init() {}

  /// Called after a new copy was stored. The new copy is not verified yet.
  func forgetDamage(of id: BlobID) {
    intact.withLock { $0[id] = nil }
    damaged.withLock { _ = $0.remove(id) }
  }

  private struct Start {
    var wallMicroseconds: Int64
    var monotonicNanoseconds: UInt64
  }

  private let start = Locked<Start?>(nil)

  /// Wall-clock time that advances monotonically: the first reading of the wall clock plus the time since
  /// then.
  func microseconds(_ clock: any StoreClock) -> Int64 {
    let monotonic = clock.monotonicNanoseconds()
    return start.withLock { start in
      let first =
        start ?? Start(wallMicroseconds: clock.wallMicroseconds(), monotonicNanoseconds: monotonic)
      start = first
      let passed = Int64((monotonic - min(monotonic, first.monotonicNanoseconds)) / 1000)
      let (now, overflow) = first.wallMicroseconds.addingReportingOverflow(passed)
      return overflow ? .max : now
    }
  }

  private struct Puts {
    var next: UInt64 = 0
    var inProgress: Set<UInt64> = []
  }

  private let puts = Locked(Puts())

  /// Marks a put as in progress. The mark lasts from before the content gets its place until the content's
  /// record is committed or the put fails.
  func beginPut() -> UInt64 {
    puts.withLock { puts in
      defer { puts.next += 1 }
      puts.inProgress.insert(puts.next)
      return puts.next
    }
  }

  func endPut(_ number: UInt64) {
    puts.withLock { _ = $0.inProgress.remove(number) }
    puts.wakeAll()
  }

  /// Returns when all puts that are in progress now have ended.
  func waitForPuts() {
    let end = puts.withLock { $0.next }
    puts.withLock(when: { puts in puts.inProgress.allSatisfy { $0 >= end } }) { _ in }
  }
}
