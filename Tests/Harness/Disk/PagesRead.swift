// Counts the reads that would wait for the disk with a cold page cache. A read that waits also brings all
// pages into the cache that were prefetched before.

/// A page cache that keeps every page after its first read.
struct PagesRead {
  private struct Page: Hashable {
    let file: String
    let number: UInt64
  }

  private static let pageBytes: UInt64 = 4096

  private var cachedPages: Set<Page> = []
  private var prefetchedPages: Set<Page> = []
  private(set) var waits = 0

  mutating func prefetch(for range: Range<UInt64>, of file: String) {
    prefetchedPages.formUnion(Self.pages(of: file, range))
  }

  /// Written pages are in the cache.
  mutating func write(_ range: Range<UInt64>, of file: String) {
    cachedPages.formUnion(Self.pages(of: file, range))
  }

  mutating func read(_ range: Range<UInt64>, of file: String) {
    let pages = Self.pages(of: file, range)
    guard !cachedPages.isSuperset(of: pages) else { return }
    waits += 1
    cachedPages.formUnion(pages)
    cachedPages.formUnion(prefetchedPages)
    prefetchedPages = []
  }

  private static func pages(of file: String, _ range: Range<UInt64>) -> [Page] {
    guard !range.isEmpty else { return [] }
    return (range.lowerBound / pageBytes...(range.upperBound - 1) / pageBytes).map {
      Page(file: file, number: $0)
    }
  }
}
