// The size of a filter of names, and the names that it has.

import OfflineSync
import Testing

@Suite struct BloomFilterTests {
  private func name(_ number: Int) -> String { "projects/p/databases/d/documents/rooms/\(number)" }

  private func filter(of count: Int, others: Int) -> BloomFilter {
    var filter = BloomFilter(count: count, others: others)
    for number in 0..<count { filter.insert(name(number)) }
    return filter
  }

  @Test func aFilterHasSeventeenBitsForANameWithoutOthers() {
    let parts = BloomFilter(count: 1_000).asParts
    #expect(parts.bitmap.count == 2_125)
    #expect(parts.hashCount == 12)
  }

  /// Filters of different sizes have different names.
  @Test(arguments: [1..<100, 500..<600]) func fewFiltersHaveOneOfTheOthers(counts: Range<Int>) {
    let wrong = counts.filter { count in
      let filter = filter(of: count, others: 30)
      return (count..<count + 30).contains { filter.contains(name($0)) }
    }
    #expect(wrong == [])
  }

  @Test(arguments: [1, 100, 10_000])
  func aFilterHasNoneOfTheOthersThatItIsMadeFor(others: Int) {
    let filter = filter(of: 2_000, others: others)
    #expect((0..<2_000).allSatisfy { filter.contains(name($0)) })
    #expect(!(2_000..<(2_000 + others)).contains { filter.contains(name($0)) })
  }

  @Test func aFilterHasAtMostFiveBytesForAName() {
    #expect(BloomFilter(count: 1_000, others: .max).asParts.bitmap.count == 5_000)
  }
}
