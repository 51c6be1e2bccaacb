// Per-content reader-writer latches, which protect contents against removal.
//
// A writer that references an existing content shares its latch until the commit. A writer that stores a new
// content, or removes the record of a content, holds the latch exclusively. So a content cannot be removed
// between the check that it exists and the commit that relies on it. While a thread waits for exclusive
// access, no new shares are granted, because frequent puts of one content would otherwise starve that thread.
// To avoid deadlocks, a thread that holds a latch must not wait for any latch.

import ByteStore
import DocumentStore

/// Usable from any thread.
final class ContentLatches: Sendable {
  private struct Latch {
    var shares = 0
    var isHeldExclusively = false
    /// Number of threads that wait for exclusive access.
    var exclusiveWaiters = 0
    /// A thread that wanted to remove the content found it in use. The last holder must check again.
    var needsCheck = false
  }

  private let latches = Locked<[BlobID: Latch]>([:])
  /// Called when a thread begins to wait for exclusive access, also if the latch is free.
  private let willTake: (@Sendable () -> Void)?

  init(willTake: (@Sendable () -> Void)? = nil) { self.willTake = willTake }

  /// Takes shared access. Waits while a thread holds the latch exclusively or waits for exclusive access.
  func share(_ id: BlobID) {
    latches.withLock(when: { Self.isOpen($0[id]) }) { $0[id, default: Latch()].shares += 1 }
  }

  private static func isOpen(_ latch: Latch?) -> Bool {
    guard let latch else { return true }
    return !latch.isHeldExclusively && latch.exclusiveWaiters == 0
  }

  /// Whether the latch could be shared now.
  func isOpen(_ id: BlobID) -> Bool { latches.withLock { Self.isOpen($0[id]) } }

  /// Takes exclusive access, and waits for it.
  func take(_ id: BlobID) {
    latches.withLock { $0[id, default: Latch()].exclusiveWaiters += 1 }
    willTake?()
    latches.withLock(when: { $0[id].map { !$0.isHeldExclusively && $0.shares == 0 } ?? true }) { latches in
      latches[id, default: Latch()].exclusiveWaiters -= 1
      latches[id]?.isHeldExclusively = true
    }
  }

  /// Takes exclusive access if the latch is free. Otherwise returns false, and the last holder of the latch
  /// must then check whether the content is still needed.
  func tryTake(_ id: BlobID) -> Bool {
    latches.withLock { latches in
      var latch = latches[id] ?? Latch()
      defer { latches[id] = latch }
      guard !latch.isHeldExclusively, latch.shares == 0 else {
        latch.needsCheck = true
        return false
      }
      latch.isHeldExclusively = true
      return true
    }
  }

  /// Converts exclusive to shared access.
  func downgrade(_ id: BlobID) {
    latches.withLock { latches in
      latches[id]?.isHeldExclusively = false
      latches[id]?.shares += 1
    }
    latches.wakeAll()
  }

  /// Releases shared access. True if the caller must check whether the content is still needed.
  func releaseShare(_ id: BlobID) -> Bool { release(of: id) { $0.shares -= 1 } }

  /// Releases exclusive access. True if the caller must check whether the content is still needed.
  func releaseExclusive(_ id: BlobID) -> Bool { release(of: id) { $0.isHeldExclusively = false } }

  private func release(of id: BlobID, _ change: (inout Latch) -> Void) -> Bool {
    let needsCheck = latches.withLock { latches in
      guard var latch = latches[id] else { preconditionFailure("a latch that is not held") }
      change(&latch)
      // If a thread waits for exclusive access, that thread becomes the last holder.
      let isLast = latch.shares == 0 && !latch.isHeldExclusively && latch.exclusiveWaiters == 0
      latches[id] = isLast ? nil : latch
      return isLast && latch.needsCheck
    }
    latches.wakeAll()
    return needsCheck
  }
}
