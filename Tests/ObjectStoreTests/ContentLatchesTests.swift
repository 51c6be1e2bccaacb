// Exclusive access to contents, and waiting for it.

import ByteStore
import Harness
import Testing

@testable import DocumentStore
@testable import ObjectStore

struct ContentLatchesTests {
  private let latches: ContentLatches
  /// Receives an event when a thread begins to wait for exclusive access.
  private let waiters: EventCount
  private let order = Locked<[String]>([])
  private let needsCheck = Locked(false)

  init() {
    let waiters = EventCount()
    self.waiters = waiters
    latches = ContentLatches(willTake: { waiters.add() })
  }

  /// Guards against starvation: frequent puts of a content must not block a sweep that moves it.
  @Test(.timeLimit(.minutes(5))) func aWaitingExclusiveHolderBlocksNewShares() async throws {
    let content: [UInt8] = [1, 2, 3]
    let id = try #require(BlobID(ContentDigest.sha256(of: content.rawSpan)))
    latches.share(id)
    #expect(latches.isOpen(id))
    let taker = WorkerThread { [latches, order, needsCheck] in
      latches.take(id)
      order.withLock { $0.append("alone") }
      let mayBeGone = latches.releaseExclusive(id)
      needsCheck.withLock { $0 = mayBeGone }
    }
    try #require(await waiters.next(), "the taker does not wait")
    #expect(!latches.isOpen(id))
    let sharer = WorkerThread { [latches, order] in
      latches.share(id)
      order.withLock { $0.append("shared") }
      _ = latches.releaseShare(id)
    }
    // The taker is waiting, so the thread that releases its share is not the last holder of the latch.
    #expect(!latches.tryTake(id))
    #expect(!latches.releaseShare(id))
    taker.join()
    sharer.join()
    #expect(order.withLock { $0 } == ["alone", "shared"])
    #expect(needsCheck.withLock { $0 })
    #expect(latches.isOpen(id) && latches.tryTake(id))
  }
}
