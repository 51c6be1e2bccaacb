// Interval search and chunked results, compared with simple implementations.

import Harness
import Testing

@testable import DocumentStore

@Suite struct LiveRangesTests {
  private final class Owner {
    let ranges: [ByteRange]
    init(_ ranges: [ByteRange]) { self.ranges = ranges }
  }

  @Test func lookupFindsExactlyTheRangesContainingTheKey() {
    let seed = UInt64.random(in: 0...1 << 40)
    var random = SeededRandom(seed: seed)
    let ranges = LiveRanges<Owner>()
    var owners: [Owner] = []
    // Many keys are equal in their first eight bytes and differ only in later bytes.
    func key() -> [UInt8] {
      Array(repeating: 0xFF, count: [0, 7, 8, 9][random.below(4)])
        + random.bytes(random.below(3)).map { $0 & 0x1F }
    }
    for step in 0..<3000 {
      if random.oneIn(3), !owners.isEmpty {
        ranges.remove(owners.remove(at: random.below(owners.count)))
      } else {
        let owner = Owner(
          (0...random.below(3)).map { _ in ByteRange(key(), random.oneIn(5) ? nil : key()) })
        owners.append(owner)
        for range in owner.ranges { ranges.insert(range, owner) }
      }
      let key = key()
      var found = Set<ObjectIdentifier>()
      ranges.forEach(having: key) { found.insert(ObjectIdentifier($0)) }
      let expected = owners.filter { $0.ranges.contains { $0.contains(key) } }.map { ObjectIdentifier($0) }
      #expect(found == Set(expected), "seed \(seed), step \(step)")
      #expect(ranges.count == owners.reduce(0) { $0 + $1.ranges.count }, "seed \(seed), step \(step)")
    }
  }

  @Test func resultsStaySortedAndCopiesStayUnchanged() {
    let seed = UInt64.random(in: 0...1 << 40)
    var random = SeededRandom(seed: seed)
    var results = LiveResults()
    var model: [[UInt8]] = []
    for step in 0..<5000 {
      let copy = results
      let before = model
      let key = [UInt8(step % 3000 / 256), UInt8(random.below(256))]
      if let place = model.firstIndex(of: key) {
        #expect(results.entry(sortKey: key)?.sortKey == key)
        #expect(results.remove(sortKey: key) == place, "seed \(seed), step \(step)")
        model.remove(at: place)
      } else {
        let place = model.firstIndex { key.precedes($0) } ?? model.count
        let document = StoredDocument(
          path: path("a", "b"), createTime: .epoch, updateTime: .epoch, fields: StoredMap())
        #expect(
          results.insert(LiveEntry(key, key, document: document)) == place, "seed \(seed), step \(step)")
        model.insert(key, at: place)
      }
      if step % 100 == 0 {
        #expect(copy.entries.map(\.sortKey) == before)
        #expect(results.entries.map(\.sortKey) == model)
        #expect(results.count == model.count)
        for index in results.indices { #expect(results.entry(at: index).sortKey == model[index]) }
      }
    }
  }
}

@Suite("The campaign of live queries")
struct LiveCampaignTests {
  /// Events that a short campaign may not reach.
  private static let rare: [LiveCampaign.Kind] = [
    .replacedListeners, .commitsOfHandlers, .listenersOfHandlers, .droppedIndexes,
  ]

  @Test("whatever is committed, listeners know the answers of their queries", .timeLimit(.minutes(5)))
  func listenersAlwaysHaveTheCorrectQueryResult() {
    let directory = TemporaryDirectory()
    let seed = UInt64.random(in: 0...1 << 40)
    let summary = LiveCampaign.run(commits: 1200, listeners: 300, seed: seed, in: directory.path)
    #expect(summary.failure == nil)
    #expect(summary.neverReached.filter { !Self.rare.contains($0) } == [], "seed \(seed)")
  }
}
