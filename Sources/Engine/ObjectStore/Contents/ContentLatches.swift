// Who may rely on a content being there, and who may make or take it away.
//
// Whoever gives an object a content that is there already shares the content's latch until the commit; whoever
// puts a new content there, or takes the record of one away, has it alone. So between the look whether a content
// is there and the commit that relies on it, nobody takes it away. Who waits to have one alone keeps new shares out:
// a content that is put again and again would not let anybody have it. Nobody who has one latch waits for another, nor
// for the same one once more.

import ByteStore
import DocumentStore

/// Usable from any thread.
final class ContentLatches: Sendable {
  private struct Latch {
    var shares = 0
    var isTaken = false
    /// So many wait to have it alone.
    var takersWaiting = 0
    /// Someone found it in use who would have taken the content away: whoever is last looks again.
    var isSuspect = false
  }

  private let latches = Locked<[BlobID: Latch]>([:])

  /// Waits while someone has it alone, or waits for that.
  func share(_ id: BlobID) {
    latches.withLock(when: { Self.isOpen($0[id]) }) { $0[id, default: Latch()].shares += 1 }
  }

  private static func isOpen(_ latch: Latch?) -> Bool {
    guard let latch else { return true }
    return !latch.isTaken && latch.takersWaiting == 0
  }

  /// Whether it could be shared now.
  func isOpen(_ id: BlobID) -> Bool { latches.withLock { Self.isOpen($0[id]) } }

  /// Waits until nobody else has it.
  func take(_ id: BlobID) {
    latches.withLock { $0[id, default: Latch()].takersWaiting += 1 }
    latches.withLock(when: { $0[id].map { !$0.isTaken && $0.shares == 0 } ?? true }) { latches in
      latches[id, default: Latch()].takersWaiting -= 1
      latches[id]?.isTaken = true
    }
  }

  /// False if someone has it; then whoever gives it back last is told to look whether the content is still needed.
  func takeIfFree(_ id: BlobID) -> Bool {
    latches.withLock { latches in
      var latch = latches[id] ?? Latch()
      defer { latches[id] = latch }
      guard !latch.isTaken, latch.shares == 0 else {
        latch.isSuspect = true
        return false
      }
      latch.isTaken = true
      return true
    }
  }

  /// From having it alone to sharing it.
  func downgrade(_ id: BlobID) {
    latches.withLock { latches in
      latches[id]?.isTaken = false
      latches[id]?.shares += 1
    }
    latches.wakeAll()
  }

  /// True if it is to be looked whether the content is still needed.
  func unshare(_ id: BlobID) -> Bool { letGo(of: id) { $0.shares -= 1 } }

  /// The same.
  func giveBack(_ id: BlobID) -> Bool { letGo(of: id) { $0.isTaken = false } }

  private func letGo(of id: BlobID, _ change: (inout Latch) -> Void) -> Bool {
    let isSuspect = latches.withLock { latches in
      guard var latch = latches[id] else { preconditionFailure("a latch that nobody has") }
      change(&latch)
      // Who waits to have it alone is the last then.
      let isLast = latch.shares == 0 && !latch.isTaken && latch.takersWaiting == 0
      latches[id] = isLast ? nil : latch
      return isLast && latch.isSuspect
    }
    latches.wakeAll()
    return isSuspect
  }
}
