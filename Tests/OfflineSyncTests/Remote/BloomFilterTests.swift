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

  @Test func aFilterHasTenBitsForANameWithoutOthers() {
    let parts = BloomFilter(count: 1_000).asParts
    #expect(parts.bitmap.count == 1_250)
    #expect(parts.hashCount == 7)
  }

  @Test(arguments: [1, 100, 10_000])
  func aFilterHasNoneOfTheOthersThatItIsMadeFor(others: Int) {
    let filter = filter(of: 2_000, others: others)
    #expect((0..<2_000).allSatisfy { filter.contains(name($0)) })
    #expect(!(2_000..<(2_000 + others)).contains { filter.contains(name($0)) })
  }

  @Test func aFilterHasAtMostFourBytesForAName() {
    #expect(BloomFilter(count: 1_000, others: .max).asParts.bitmap.count == 4_000)
  }
}
