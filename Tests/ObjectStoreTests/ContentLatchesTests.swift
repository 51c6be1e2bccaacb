// Who has a content alone, and who waits for that.

import ByteStore
import Harness
import Testing

@testable import DocumentStore
@testable import ObjectStore

struct ContentLatchesTests {
  private let latches = ContentLatches()
  private let order = Locked<[String]>([])
  private let isSuspect = Locked(false)

  /// A sweep that was to move a content waited for as long as that was put again and again.
  @Test(.timeLimit(.minutes(5))) func whoWaitsToHaveOneAloneKeepsNewSharesOut() async throws {
    let content: [UInt8] = [1, 2, 3]
    let id = try #require(BlobID(ContentDigest.sha256(of: content.rawSpan)))
    latches.share(id)
    #expect(latches.isOpen(id))
    let taker = WorkerThread { [latches, order, isSuspect] in
      latches.take(id)
      order.withLock { $0.append("alone") }
      let mayBeGone = latches.giveBack(id)
      isSuspect.withLock { $0 = mayBeGone }
    }
    // It waits then.
    while latches.isOpen(id) { try await Task.sleep(for: .milliseconds(1)) }
    let sharer = WorkerThread { [latches, order] in
      latches.share(id)
      order.withLock { $0.append("shared") }
      _ = latches.unshare(id)
    }
    // Who had the share is not the last one: who waits is told to look.
    #expect(!latches.takeIfFree(id))
    #expect(!latches.unshare(id))
    while order.withLock({ $0.count }) < 2 { try await Task.sleep(for: .milliseconds(1)) }
    taker.join()
    sharer.join()
    #expect(order.withLock { $0 } == ["alone", "shared"])
    #expect(isSuspect.withLock { $0 })
    #expect(latches.isOpen(id) && latches.takeIfFree(id))
  }
}
