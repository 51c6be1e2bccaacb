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
    var wrong: [String] = []
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
      let total = owners.reduce(0) { $0 + $1.ranges.count }
      if found != Set(expected) || ranges.count != total {
        wrong.append(
          "step \(step): found \(found.count) of \(expected.count), \(ranges.count) ranges of \(total)")
      }
    }
    #expect(wrong == [], "seed \(seed)")
  }

  @Test func resultsStaySortedAndCopiesStayUnchanged() {
    let seed = UInt64.random(in: 0...1 << 40)
    var random = SeededRandom(seed: seed)
    var results = LiveResults()
    var model: [[UInt8]] = []
    var wrong: [String] = []
    for step in 0..<5000 {
      let copy = results
      let before = model
      let key = [UInt8(step % 3000 / 256), UInt8(random.below(256))]
      if let place = model.firstIndex(of: key) {
        let entry = results.entry(sortKey: key)
        if entry?.sortKey != key { wrong.append("step \(step): \(key) is not at \(place)") }
        if results.remove(sortKey: key) != place { wrong.append("step \(step): not removed at \(place)") }
        model.remove(at: place)
      } else {
        let place = model.firstIndex { key.precedes($0) } ?? model.count
        let document = StoredDocument(
          path: path("a", "b"), createTime: .epoch, updateTime: .epoch, fields: StoredMap())
        let insertedAt = results.insert(LiveEntry(key, key, document: document))
        if insertedAt != place { wrong.append("step \(step): inserted at \(insertedAt), not at \(place)") }
        model.insert(key, at: place)
      }
      if step % 100 == 0 {
        if copy.entries.map(\.sortKey) != before { wrong.append("step \(step): the copy has changed") }
        if results.entries.map(\.sortKey) != model { wrong.append("step \(step): wrong entries") }
        if results.count != model.count { wrong.append("step \(step): \(results.count) are counted") }
        let keys = results.indices.map { results.entry(at: $0).sortKey }
        if keys != model { wrong.append("step \(step): wrong entries by index") }
      }
    }
    #expect(wrong == [], "seed \(seed)")
  }
}

@Suite("The campaign of live queries")
struct LiveCampaignTests {
  /// Events that a short campaign may not reach.
  private static let rare: [LiveCampaign.Kind] = [
    .replacedListeners, .commitsOfHandlers, .listenersOfHandlers, .droppedIndexes,
  ]

  @Test("after every commit, listeners have the results of their queries", .timeLimit(.minutes(5)))
  func listenersAlwaysHaveTheCorrectQueryResult() {
    let directory = TemporaryDirectory()
    let seed = UInt64.random(in: 0...1 << 40)
    let summary = LiveCampaign.run(commits: 1200, listeners: 300, seed: seed, in: directory.path)
    #expect(summary.failure == nil)
    #expect(summary.neverReached.filter { !Self.rare.contains($0) } == [], "seed \(seed)")
  }
}
