// The page cache, compared with the expected content of the pages.

import Harness
import Testing

@testable import ByteStore

@Suite struct PageCacheTests {
  private static let pageBytes = 512

  // MARK: Contents

  /// Budgets for no page, for one page, for one page in only some of the shards, for many slabs, and for more
  /// pages than needed.
  @Test(arguments: [0, 1, 10, 16, 100, 1500, 40_000])
  func cacheReturnsLoadedPages(pagesMax: Int) throws {
    var rng = SeededRandom(seed: UInt64(pagesMax))
    let cache = PageCache(bytesMax: pagesMax * Self.pageBytes, pageBytes: Self.pageBytes)
    for step in 0..<20_000 {
      let id = PageCache.PageID(
        file: .random(in: 0..<3, using: &rng) << 40, page: .random(in: 0..<1000, using: &rng))
      try cache.expectPage(id)
      if step % 1000 == 999 { cache.removePages(ofFile: .random(in: 0..<3, using: &rng) << 40) }
      if step % 500 == 0 { cache.checkInvariants() }
    }
    cache.checkInvariants()
    let statistics = cache.statistics
    #expect(statistics.hits + statistics.misses == 20_000)
    #expect(statistics.bytesMax == pagesMax * Self.pageBytes)
    #expect(pagesMax > 0 || statistics.hits == 0)
  }

  @Test func aPageIsLoadedOnceAsLongAsThereIsRoom() throws {
    let cache = PageCache(bytesMax: 3200 * Self.pageBytes, pageBytes: Self.pageBytes)
    for _ in 0..<3 {
      for page in 0..<1600 as Range<UInt32> { try cache.expectPage(.init(file: 1, page: page)) }
    }
    #expect(cache.statistics.misses == 1600)
    #expect(cache.statistics.hits == 3200)
    #expect(cache.statistics.bytesUsed == 1600 * Self.pageBytes)
  }

  // MARK: Memory

  /// A memory gauge that returns a configured value.
  private final class Gauge: MemoryGauge {
    let share = Locked<Double?>(0.5)

    func fractionAvailable() -> Double? { share.withLock { $0 } }
  }

  /// Loads as many new pages as the cache does between two checks of the memory.
  private func load(_ page: inout UInt32, into cache: PageCache) throws {
    for _ in 0..<PageCache.loadsBetweenChecks {
      try cache.expectPage(.init(file: 1, page: page))
      page += 1
    }
    cache.checkInvariants()
  }

  @Test func budgetShrinksWhileMemoryIsScarce() throws {
    let gauge = Gauge()
    let asked = 8 << 20
    let cache = PageCache(bytesMax: asked, pageBytes: Self.pageBytes, memory: gauge)
    var page: UInt32 = 0
    func load() throws { try self.load(&page, into: cache) }
    for _ in 0..<20 { try load() }
    #expect(cache.statistics.bytesMax == asked)
    gauge.share.withLock { $0 = 0.01 }
    try load()
    #expect(cache.statistics.bytesMax == asked / 2)
    #expect(cache.statistics.bytesUsed <= asked / 2)
    for _ in 0..<9 { try load() }
    #expect(cache.statistics.bytesMax == PageCache.budgetBytesMin)
    // The available memory is first neither scarce nor ample, and then unknown.
    gauge.share.withLock { $0 = 0.07 }
    try load()
    gauge.share.withLock { $0 = nil }
    try load()
    #expect(cache.statistics.bytesMax == PageCache.budgetBytesMin)
    gauge.share.withLock { $0 = 0.5 }
    for _ in 0..<9 { try load() }
    #expect(cache.statistics.bytesMax == asked)
  }

  /// Regression: each change of the configured budget ended the reduction, although memory was still scarce.
  @Test func aNewBudgetDoesNotGrowWhileMemoryPressureReducesIt() throws {
    let gauge = Gauge()
    let asked = 8 << 20
    let cache = PageCache(bytesMax: asked, pageBytes: Self.pageBytes, memory: gauge)
    var page: UInt32 = 0
    gauge.share.withLock { $0 = 0.01 }
    try load(&page, into: cache)
    #expect(cache.statistics.bytesMax == asked / 2)
    for budget in [2 * asked, asked - 4096] {
      cache.setBytesMax(budget)
      #expect(cache.statistics.bytesMax == asked / 2, "after a budget of \(budget)")
    }
    gauge.share.withLock { $0 = 0.5 }
    for _ in 0..<2 { try load(&page, into: cache) }
    #expect(cache.statistics.bytesMax == asked - 4096, "memory is available again")
  }

  /// A 32-bit fingerprint does not identify a page. The hash is invertible, so colliding pages are easy
  /// to construct.
  @Test func pagesWithEqualFingerprintsAreDistinguished() throws {
    let cache = PageCache(bytesMax: 1 << 20, pageBytes: Self.pageBytes)
    let ids = (0..<50 as Range<UInt64>).map { PageCache.PageID(hashingTo: 0xA000_0000_1234_5678 | $0 << 32) }
    #expect(ids.filter { PageHash($0).shard != 0xA || PageHash($0).fingerprint != 0x1234_5678 } == [])
    for _ in 0..<3 {
      for id in ids { try cache.expectPage(id) }
    }
    var rng = SeededRandom(seed: 13)
    for id in ids.shuffled(using: &rng) {
      cache.removePages(ofFile: id.file)
      cache.checkInvariants()
    }
    #expect(cache.statistics.misses == 50)
    #expect(cache.statistics.bytesUsed == 0)
  }

  @Test func bodyMayReturnNil() throws {
    let cache = PageCache(bytesMax: 1 << 20, pageBytes: Self.pageBytes)
    var loads = 0
    var results: [Int?] = []
    for _ in 0..<2 {
      let nothing: (result: Int?, hasWaited: Bool) = try cache.withPage(
        .init(file: 1, page: 1),
        load: { _ in
          loads += 1
          return false
        }, { _ in nil })
      results.append(nothing.result)
    }
    #expect(results == [nil, nil])
    #expect(loads == 1)
  }

  @Test func onlyACacheMissReportsAWait() throws {
    let cache = PageCache(bytesMax: 1 << 20, pageBytes: Self.pageBytes)
    let waits = try (0..<2).map { _ in
      try cache.withPage(.init(file: 1, page: 1), load: { _ in true }, { _ in () }).hasWaited
    }
    #expect(waits == [true, false])
  }

  @Test func frequentlyUsedPagesSurviveAScan() throws {
    let cache = PageCache(bytesMax: 1600 * Self.pageBytes, pageBytes: Self.pageBytes)
    let isPopular = { (page: UInt32) in page < 160 }
    for page in 0..<20_000 as Range<UInt32> {
      if page % 40 == 0 {
        for popular in 0..<160 as Range<UInt32> { try cache.expectPage(.init(file: 1, page: popular)) }
      }
      if !isPopular(page) { try cache.expectPage(.init(file: 1, page: page)) }
    }
    #expect(cache.statistics.misses == 20_000)
  }

  // MARK: Loading

  @Test func aLoadThatThrowsLeavesNoPage() throws {
    let cache = PageCache(bytesMax: 1 << 20, pageBytes: Self.pageBytes)
    let id = PageCache.PageID(file: 1, page: 2)
    var errors: [ByteStoreError] = []
    var bytesUsed: [Int] = []
    for _ in 0..<3 {
      do throws(ByteStoreError) {
        _ = try cache.withPage(
          id,
          load: { room throws(ByteStoreError) -> Bool in
            room.storeBytes(of: 0xFF, as: UInt8.self)
            throw .closed(directory: "here")
          }, { _ in Issue.record("there is no page") })
      } catch {
        errors.append(error)
      }
      bytesUsed.append(cache.statistics.bytesUsed)
    }
    let closed = ByteStoreError.closed(directory: "here")
    #expect(errors == [closed, closed, closed])
    #expect(bytesUsed == [0, 0, 0])
    try cache.expectPage(id)
    cache.checkInvariants()
  }

  /// No lock is held while a page is loaded, so a load may request all other pages and also the page that it
  /// loads.
  @Test func loadMayRequestOtherPagesFromTheCache() throws {
    let cache = PageCache(bytesMax: 1 << 20, pageBytes: Self.pageBytes)
    let id = PageCache.PageID(file: 1, page: 7)
    let isWhole = try cache.withPage(
      id,
      load: { room throws(ByteStoreError) in
        for page in 0..<100 as Range<UInt32> { try cache.expectPage(.init(file: 1, page: page)) }
        cache.checkInvariants()
        return PageCacheTests.fill(&room, for: id)
      }, { PageCacheTests.isWhole($0, id) }
    ).result
    #expect(isWhole)
    #expect(cache.statistics.bytesUsed == 100 * Self.pageBytes)
    cache.checkInvariants()
  }

  // MARK: Eviction

  @Test func removalEvictsThePagesOfOneFile() throws {
    let cache = PageCache(bytesMax: 1 << 20, pageBytes: Self.pageBytes)
    for file in 1...2 as ClosedRange<UInt64> {
      for page in 0..<100 as Range<UInt32> { try cache.expectPage(.init(file: file, page: page)) }
    }
    cache.removePages(ofFile: 1)
    cache.checkInvariants()
    #expect(cache.statistics.bytesUsed == 100 * Self.pageBytes)
    for page in 0..<100 as Range<UInt32> { try cache.expectPage(.init(file: 2, page: page)) }
    #expect(cache.statistics.misses == 200)
    for page in 0..<100 as Range<UInt32> { try cache.expectPage(.init(file: 1, page: page)) }
    #expect(cache.statistics.misses == 300)
    cache.checkInvariants()
  }

  @Test func theBudgetMayShrinkAndGrow() throws {
    var rng = SeededRandom(seed: 12)
    let cache = PageCache(bytesMax: 0, pageBytes: Self.pageBytes)
    var wrong: [String] = []
    for _ in 0..<60 {
      let bytesMax =
        Self.pageBytes * Int.random(in: 0...Int.random(in: 0...12_000, using: &rng), using: &rng)
      cache.setBytesMax(bytesMax)
      cache.checkInvariants()
      let statistics = cache.statistics
      if statistics.bytesMax != bytesMax || statistics.bytesUsed > bytesMax {
        wrong.append("\(statistics.bytesUsed) of \(statistics.bytesMax) bytes, not of \(bytesMax)")
      }
      for _ in 0..<1000 {
        let page = UInt32.random(in: 0..<5000, using: &rng)
        try cache.expectPage(.init(file: 3, page: page))
      }
      cache.checkInvariants()
    }
    #expect(wrong == [])
  }

  @Test func grownBudgetIsUsed() throws {
    let cache = PageCache(bytesMax: 20 * Self.pageBytes, pageBytes: Self.pageBytes)
    func readPages() throws {
      for page in 0..<1000 as Range<UInt32> { try cache.expectPage(.init(file: 1, page: page)) }
    }
    try readPages()
    #expect(cache.statistics.bytesUsed == 20 * Self.pageBytes)
    cache.setBytesMax(2000 * Self.pageBytes)
    try readPages()
    try readPages()
    #expect(cache.statistics.bytesUsed == 1000 * Self.pageBytes)
  }

  @Test func theStandardBudgetIsWithinItsLimits() {
    #expect((16 << 20...512 << 20).contains(PageCache.standardBytesMax()))
  }

  // MARK: Threads

  /// The budget is so small that almost every access evicts a page that another thread may be about to
  /// use.
  @Test func threadsNeverSeeAWrongPage() {
    let cache = PageCache(bytesMax: 40 * Self.pageBytes, pageBytes: Self.pageBytes)
    let threads = (1...4 as ClosedRange<UInt64>).map { seed in
      WorkerThread {
        var rng = SeededRandom(seed: seed)
        for step in 0..<20_000 {
          let id = PageCache.PageID(
            file: .random(in: 0..<2, using: &rng), page: .random(in: 0..<40, using: &rng))
          do { try cache.expectPage(id) } catch { Issue.record(error) }
          if step % 1000 == 0 { cache.removePages(ofFile: UInt64(step / 1000) % 2) }
          if seed == 1, step % 500 == 0 { cache.setBytesMax(step % 80 * Self.pageBytes) }
          if seed == 2, step % 500 == 0 { cache.checkInvariants() }
        }
      }
    }
    for thread in threads { thread.join() }
    cache.setBytesMax(40 * Self.pageBytes)
    cache.checkInvariants()
    #expect(cache.statistics.hits + cache.statistics.misses == 80_000)
  }

  /// Both threads start to load the same page before either thread may finish its load.
  @Test func twoThreadsThatMissOnePageKeepOneCopy() {
    let cache = PageCache(bytesMax: 1 << 20, pageBytes: Self.pageBytes)
    let id = PageCache.PageID(file: 1, page: 1)
    let inside = Locked(0)
    let threads = (0..<2).map { _ in
      WorkerThread {
        let isWhole = try? cache.withPage(
          id,
          load: { room in
            inside.withLock { $0 += 1 }
            inside.wakeAll()
            inside.withLock(when: { $0 == 2 }) { _ in }
            return PageCacheTests.fill(&room, for: id)
          }, { PageCacheTests.isWhole($0, id) })
        #expect(isWhole?.result == true)
      }
    }
    for thread in threads { thread.join() }
    cache.checkInvariants()
    #expect(cache.statistics.misses == 2)
    #expect(cache.statistics.bytesUsed == Self.pageBytes)
  }

  // MARK: Pages

  /// Fills a page with repetitions of its id. Returns false, because the load did not wait for the disk.
  fileprivate static func fill(_ room: inout MutableRawSpan, for id: PageCache.PageID) -> Bool {
    let bytes = room.byteCount
    if bytes != pageBytes { Issue.record("a page of \(bytes) bytes") }
    for offset in stride(from: 0, to: pageBytes, by: 16) {
      room.storeBytes(of: id.file, toByteOffset: offset, as: UInt64.self)
      room.storeBytes(of: UInt64(id.page), toByteOffset: offset + 8, as: UInt64.self)
    }
    return false
  }

  fileprivate static func isWhole(_ page: RawSpan, _ id: PageCache.PageID) -> Bool {
    page.byteCount == pageBytes
      && stride(from: 0, to: pageBytes, by: 16).allSatisfy {
        page.unsafeLoad(fromByteOffset: $0, as: UInt64.self) == id.file
          && page.unsafeLoad(fromByteOffset: $0 + 8, as: UInt64.self) == UInt64(id.page)
      }
  }
}

extension PageCache.PageID {
  /// Creates the id of page 0 of a file that is chosen so that the page hash is `bits`.
  fileprivate init(hashingTo bits: UInt64) {
    func inverse(_ factor: UInt64) -> UInt64 {
      // Each Newton step doubles the number of correct bits.
      (0..<6).reduce(factor) { inverse, _ in inverse &* (2 &- factor &* inverse) }
    }
    var bits = bits ^ bits >> 32
    bits = bits &* inverse(0xD6E8_FEB8_6659_FD93)
    bits = (bits ^ bits >> 32) &* inverse(0x9E37_79B9_7F4A_7C15)
    self.init(file: bits, page: 0)
  }
}

extension PageCache {
  fileprivate func expectPage(_ id: PageID) throws(ByteStoreError) {
    let isWhole = try withPage(
      id, load: { PageCacheTests.fill(&$0, for: id) }, { PageCacheTests.isWhole($0, id) }
    ).result
    if !isWhole { Issue.record("\(id) holds something else") }
  }
}
