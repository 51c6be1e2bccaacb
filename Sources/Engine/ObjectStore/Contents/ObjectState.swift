// What all who use the objects of a store have in common.

import ByteStore
import DocumentStore

/// Usable from any thread.
final class ObjectState: StoreAttachment {
  let latches = ContentLatches()
  let dead = Locked(DeadBytes())
  /// Downloads that somebody works at.
  let activeDownloads = Locked<Set<RandomID>>([])
  /// A sweep leaves uploads alone that somebody works at.
  let uploads = UploadClaims()
  /// Held from taking a number for a queued change until its commit: the order of numbers is that of commits.
  let queueing = Locked(Queueing())

  struct Queueing {
    /// The last number that was taken; nil before anyone has looked.
    var last: Int64?
  }

  /// Held by a sweep: what one moves, another must not take for nobody's.
  let sweeping = Locked(Sweeping())

  struct Sweeping { private let place: UInt8 = 0 }

  /// When the last sweep began, or the store was first asked, by the monotonic clock.
  let lastSweep = Locked<UInt64?>(nil)

  /// Contents in which a read has met damage, wherever it is: the bytes of who brings one again take its place. If there
  /// are too many, some are forgotten, and found once more.
  private let damaged = Locked<Set<BlobID>>([])
  private static let damagedMax = 4096

  /// Contents of which all was read since the store was opened, because somebody brought them once more, and where they
  /// were. If there are too many, some are forgotten, and read once more.
  private let sound = Locked<[BlobID: BlobPlace]>([:])
  private static let soundMax = 4096

  func isKnownSound(_ id: BlobID, at place: BlobPlace) -> Bool { sound.withLock { $0[id] == place } }

  func noteSound(_ id: BlobID, at place: BlobPlace) {
    sound.withLock { sound in
      if sound.count >= Self.soundMax, sound[id] == nil { _ = sound.popFirst() }
      sound[id] = place
    }
  }

  func isKnownDamaged(_ id: BlobID) -> Bool { damaged.withLock { $0.contains(id) } }

  func noteDamage(of id: BlobID) {
    sound.withLock { $0[id] = nil }
    damaged.withLock { damaged in
      if damaged.count >= Self.damagedMax, !damaged.contains(id) { _ = damaged.popFirst() }
      damaged.insert(id)
    }
  }

  /// A damaged content was found, and it is unknown which one: none counts as sound any more.
  func blobsFoundDamaged() { sound.withLock { $0.removeAll() } }

  init() {}

  /// Another copy has come, which nobody has read yet.
  func forgetDamage(of id: BlobID) {
    sound.withLock { $0[id] = nil }
    damaged.withLock { _ = $0.remove(id) }
  }

  private struct Start {
    var wallMicroseconds: Int64
    var monotonicNanoseconds: UInt64
  }

  private let start = Locked<Start?>(nil)

  /// The wall clock as of the first look at it, and what has passed since: it does not jump.
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
