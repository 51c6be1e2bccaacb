// The compressed pages of segments that are in memory.
//
// Invariant: a page is in the shard that its id chooses, and there once. What a shard holds is never more
// than its part of the budget.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Compressed pages of segments in memory, within a budget of bytes. Usable from any thread.
///
/// Beside the budget it keeps one page per shard, into which the next one is loaded. Where memory runs short on the
/// machine, it makes do with less, and takes its budget again when there is enough.
package final class PageCache: Sendable {
  struct PageID: Hashable, Sendable {
    /// Never used for two files: what the cache holds for a file stays true.
    var file: UInt64
    var page: UInt32
  }

  struct Statistics: Hashable, Sendable {
    /// By the pages that it holds.
    var bytesUsed = 0
    var bytesMax = 0
    var hits: UInt64 = 0
    var misses: UInt64 = 0
  }

  /// So many loads come between two looks at the gauge.
  static let loadsBetweenLooks = 1024
  /// Of the machine's memory: with less left the budget is halved, with more it is doubled again.
  static let scarceShare = 0.05
  static let ampleShare = 0.10
  /// No less, however scarce memory is.
  static let leastBytes = 1 << 20

  let pageBytes: Int
  private let shards: [Locked<PageCacheShard>]
  private let budget: Locked<Budget>
  private let memory: any MemoryGauge

  private struct Budget {
    /// What was asked for.
    var asked = 0
    /// What it makes do with.
    var bytes = 0
    var loads = 0
  }

  package init(bytesMax: Int, pageBytes: Int, memory: any MemoryGauge = SystemMemoryGauge()) {
    precondition(pageBytes > 0, "a page has bytes")
    self.pageBytes = pageBytes
    self.memory = memory
    shards = (0..<PageHash.shardCount).map { _ in Locked(PageCacheShard(pageBytes: pageBytes)) }
    budget = Locked(Budget())
    setBytesMax(bytesMax)
  }

  /// Calls `body` with the page, which stays as it is until `body` returns. `body` must be short and not use
  /// the cache: a lock is held. If the page is not here, `load` first fills a buffer of `pageBytes`, with no
  /// lock held, and verifies it; if it throws, nothing is kept. It answers whether the disk was waited for, which is the
  /// answer of this, too.
  func withPage<Result>(
    _ id: PageID, load: (inout MutableRawSpan) throws(ByteStoreError) -> Bool,
    _ body: (RawSpan) -> Result
  ) throws(ByteStoreError) -> (result: Result, hasWaited: Bool) {
    let hash = PageHash(id)
    let shard = shards[hash.shard]
    var spare: PageMemory?
    let found = shard.withLock { shard -> Result? in
      guard let frame = shard.find(id, hash) else {
        spare = shard.takeSpare()
        return nil
      }
      return body(shard.bytes(of: frame))
    }
    if let found { return (found, false) }

    guard let loaded = spare ?? PageMemory(bytes: pageBytes) else {
      fatalError("the process has no memory left for a page")
    }
    var room = loaded.mutableBytes
    let hasWaited = try load(&room)
    let result = body(loaded.bytes)
    // Only now, because the memory is another thread's to load into as soon as the shard has it back.
    shard.withLock { $0.keep(loaded, as: id, hash) }
    lookAtMemory()
    return (result, hasWaited)
  }

  /// Lets go of all pages of a file. One that is just being loaded may still come in after that; it takes
  /// room until it is its turn to go, and nobody asks for it.
  func removePages(ofFile file: UInt64) {
    for shard in shards { shard.withLock { $0.removePages(ofFile: file) } }
  }

  /// Changes the budget; lets go of pages at once if it shrinks.
  func setBytesMax(_ bytes: Int) {
    precondition(bytes >= 0, "a budget is no debt")
    budget.withLock { budget in
      budget.asked = bytes
      setBytes(bytes, &budget)
    }
  }

  private func setBytes(_ bytes: Int, _ budget: inout Budget) {
    budget.bytes = bytes
    let (pages, rest) = (bytes / pageBytes).quotientAndRemainder(dividingBy: shards.count)
    for (index, shard) in shards.enumerated() {
      shard.withLock { $0.setFramesMax(pages + (index < rest ? 1 : 0)) }
    }
  }

  /// Only who loads pages takes memory, and so only they look.
  private func lookAtMemory() {
    let isTime = budget.withLock { budget in
      budget.loads += 1
      return budget.loads.isMultiple(of: Self.loadsBetweenLooks)
    }
    guard isTime, let share = memory.shareLeft() else { return }
    budget.withLock { budget in
      if share < Self.scarceShare, budget.bytes > Self.leastBytes {
        setBytes(max(budget.bytes / 2, Self.leastBytes), &budget)
      } else if share > Self.ampleShare, budget.bytes < budget.asked {
        setBytes(min(budget.bytes * 2, budget.asked), &budget)
      }
    }
  }

  /// A sixteenth of the machine's memory, but at least 16 MiB and at most 512 MiB.
  static func standardBytesMax() -> Int {
    // Either is -1 if the system does not tell: then it is the least.
    let share = sysconf(Int32(_SC_PHYS_PAGES)) / 16 * sysconf(Int32(_SC_PAGESIZE))
    return min(max(share, 16 << 20), 512 << 20)
  }

  var statistics: Statistics {
    var sum = Statistics(bytesMax: budget.withLock { $0.bytes })
    for shard in shards {
      shard.withLock {
        sum.bytesUsed += $0.pageCount * pageBytes
        sum.hits += $0.hits
        sum.misses += $0.misses
      }
    }
    return sum
  }

  func checkInvariants() {
    // With the budget held, so that it does not change between the shards.
    budget.withLock { budget in
      var pages = 0
      for (index, shard) in shards.enumerated() {
        shard.withLock {
          $0.checkInvariants(shard: index)
          pages += $0.frameCount
        }
      }
      precondition(pages * pageBytes <= budget.bytes, "the pages exceed the budget")
    }
  }
}

/// Which shard a page belongs to, and its fingerprint there. Ids come from us, so that they need no seed.
struct PageHash {
  static let shardCount = 16

  let shard: Int
  let fingerprint: UInt32

  init(_ id: PageCache.PageID) {
    var bits = id.file &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(id.page)
    bits = (bits ^ bits >> 32) &* 0xD6E8_FEB8_6659_FD93
    bits ^= bits >> 32
    shard = Int(bits >> 60)
    fingerprint = UInt32(truncatingIfNeeded: bits)
  }
}
