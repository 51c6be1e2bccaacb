// The cache of compressed segment pages.
//
// Invariant: a page is cached at most once, in the shard that its id selects. A shard never exceeds its share
// of the budget.

/// A cache of compressed segment pages with a budget in bytes. It can be used from any thread.
///
/// In addition to the budget, each shard keeps the memory of one page, into which the next page is loaded.
/// While the machine is short of memory, the cache halves its budget repeatedly. When memory is available
/// again, the budget grows back to the configured size.
package final class PageCache: Sendable {
  struct PageID: Hashable, Sendable {
    /// A number that is never reused for another file, so that cached pages never become stale.
    var file: UInt64
    var page: UInt32
  }

  struct Statistics: Hashable, Sendable {
    /// The total size of the cached pages.
    var bytesUsed = 0
    var bytesMax = 0
    var hits: UInt64 = 0
    var misses: UInt64 = 0
  }

  /// The number of page loads between two checks of the memory gauge.
  static let loadsBetweenChecks = 1024
  /// Fractions of the machine's memory that are available. Below `scarceFraction`, the budget is halved.
  /// Above `ampleFraction`, it is doubled.
  static let scarceFraction = 0.05
  static let ampleFraction = 0.10
  /// The smallest budget to which memory pressure can reduce the cache.
  static let budgetBytesMin = 1 << 20

  let pageBytes: Int
  /// The budget with which the cache was created.
  let bytesMaxAtOpen: Int
  private let shards: [Locked<PageCacheShard>]
  private let budget: Locked<Budget>
  private let memory: any MemoryGauge

  private struct Budget {
    /// The configured budget.
    var configured = 0
    /// The current budget.
    var bytes = 0
    var loads = 0
  }

  package init(bytesMax: Int, pageBytes: Int, memory: any MemoryGauge = SystemMemoryGauge()) {
    precondition(pageBytes > 0, "a page has bytes")
    self.pageBytes = pageBytes
    bytesMaxAtOpen = bytesMax
    self.memory = memory
    shards = (0..<PageHash.shardCount).map { _ in Locked(PageCacheShard(pageBytes: pageBytes)) }
    budget = Locked(Budget())
    setBytesMax(bytesMax)
  }

  /// Calls `body` with the page, which does not change until `body` returns. `body` runs with a lock held, so
  /// it must be short and must not use the cache.
  ///
  /// If the page is not cached, `load` first fills a buffer of `pageBytes` bytes and verifies it, without a
  /// lock. If `load` throws, nothing is cached. `load` returns whether it waited for the disk; `withPage`
  /// passes this on as `hasWaited`.
  func withPage<Result>(
    _ id: PageID, load: (inout MutableRawSpan) throws(ByteStoreError) -> Bool,
    _ body: (RawSpan) -> Result
  ) throws(ByteStoreError) -> (result: Result, hasWaited: Bool) {
    let hash = PageHash(id)
    var spareMemory: PageMemory?
    // Use the buffer, because a copy of the array's element would retain and release the lock.
    let found = unsafe shards.withUnsafeBufferPointer { shards in
      unsafe shards[hash.shard].withLock { shard -> Result? in
        guard let frame = shard.find(id, hash) else {
          spareMemory = shard.takeSpareMemory()
          return nil
        }
        return body(shard.bytes(of: frame))
      }
    }
    if let found { return (found, false) }

    guard let loaded = spareMemory ?? PageMemory(bytes: pageBytes) else {
      fatalError("the process has no memory left for a page")
    }
    var room = loaded.mutableBytes
    let hasWaited = try load(&room)
    let result = body(loaded.bytes)
    // This comes after `body` has returned, because once the shard has this memory, another thread may load a
    // page into it.
    shards[hash.shard].withLock { $0.keep(loaded, as: id, hash: hash) }
    checkMemory()
    return (result, hasWaited)
  }

  /// Drops all pages of a file. A page whose load is in progress may still be added afterwards. No reader
  /// looks up that page any more, and it stays in the cache until it is evicted.
  func removePages(ofFile file: UInt64) {
    for shard in shards { shard.withLock { $0.removePages(ofFile: file) } }
  }

  /// Changes the budget. If the new budget is smaller, pages are evicted at once. A budget that memory
  /// pressure has reduced does not grow.
  func setBytesMax(_ bytes: Int) {
    precondition(bytes >= 0, "a budget is not negative")
    budget.withLock { budget in
      guard budget.configured != bytes else { return }
      let isReduced = budget.bytes < budget.configured
      budget.configured = bytes
      setBytes(isReduced ? min(budget.bytes, bytes) : bytes, &budget)
    }
  }

  private func setBytes(_ bytes: Int, _ budget: inout Budget) {
    budget.bytes = bytes
    let (pages, rest) = (bytes / pageBytes).quotientAndRemainder(dividingBy: shards.count)
    for (index, shard) in shards.enumerated() {
      shard.withLock { $0.setFramesMax(pages + (index < rest ? 1 : 0)) }
    }
  }

  /// Adapts the budget to the available memory. Called only after page loads, because only they allocate
  /// memory.
  private func checkMemory() {
    let isTime = budget.withLock { budget in
      budget.loads += 1
      return budget.loads.isMultiple(of: Self.loadsBetweenChecks)
    }
    guard isTime, let share = memory.fractionAvailable() else { return }
    budget.withLock { budget in
      if share < Self.scarceFraction, budget.bytes > Self.budgetBytesMin {
        setBytes(max(budget.bytes / 2, Self.budgetBytesMin), &budget)
      } else if share > Self.ampleFraction, budget.bytes < budget.configured {
        setBytes(min(budget.bytes * 2, budget.configured), &budget)
      }
    }
  }

  /// The default budget: a sixteenth of the memory of the machine or the container, but at least 16 MiB and
  /// at most 512 MiB.
  static func standardBytesMax() -> Int {
    min(max((SystemMemory.current().bytes ?? 0) / 16, 16 << 20), 512 << 20)
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
    // The budget's lock is held during the whole check, so that the budget does not change between two
    // shards.
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

/// The shard that a page belongs to, and the page's fingerprint in that shard. The store itself assigns the
/// page ids, so the hash needs no seed.
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
