// Maps: fields sorted by the bytes of their names, without duplicates, whatever the insertion order.

import DocumentStore
import Foundation
import Testing

@Suite struct StoredMapTests {
  @Test func fieldsAreOrderedByNameBytes() {
    let names = ["", "\0", "A", "a", "a\0", "aa", "b", "e\u{301}", "\u{E9}", "\u{FFFF}", "\u{1F600}"]
    var rng = SeededRNG(seed: 31)
    let bytes = names.map { Array($0.utf8) }
    var wrong: [String] = []
    for round in 0..<200 {
      let map = StoredMap(names.shuffled(using: &rng).map { (name: $0, value: StoredValue.null) })
      let stored = map.entries.map { Array($0.name.utf8) }
      if stored != bytes || map.count != names.count || map.isEmpty {
        wrong.append("round \(round): \(map.count) names, \(stored)")
      }
    }
    #expect(wrong == [])
  }

  @Test func ofDuplicateFieldsTheLastWins() {
    let map = StoredMap([("b", .integer(1)), ("a", .integer(2)), ("b", .integer(3)), ("a", .integer(4))])
    #expect(map == StoredMap([("a", .integer(4)), ("b", .integer(3))]))
  }

  /// Inserting each field separately would move most of the other fields each time and take minutes.
  @Test func manyUnorderedFieldsAreSortedAndTheLastDuplicateWins() {
    var rng = SeededRNG(seed: 33)
    let numbers = (0..<60_000).map { _ in rng.roll(30_000) }
    let map = StoredMap(numbers.enumerated().map { (String($1), StoredValue.integer(Int64($0))) })
    var last: [Int: Int] = [:]
    for (index, number) in numbers.enumerated() { last[number] = index }
    #expect(map.count == last.count)
    #expect(map.entries.map(\.name) == last.keys.map { String($0) }.sorted())
    #expect(
      map.entries.allSatisfy { name, value in
        Int(name).flatMap { last[$0] }.map { .integer(Int64($0)) } == value
      })
  }

  @Test func canonicallyEquivalentNamesAreDistinctFields() {
    var map = StoredMap([("\u{E9}", .integer(1)), ("e\u{301}", .integer(2))])
    #expect(map.count == 2)
    #expect(map["\u{E9}"] == .integer(1))
    #expect(map["e\u{301}"] == .integer(2))
    map["e\u{301}"] = nil
    #expect(map.count == 1)
    #expect(map["e\u{301}"] == nil)
    #expect(map["\u{E9}"] == .integer(1))
  }

  @Test func removingAMissingFieldChangesNothing() {
    var map = StoredMap([("a", .null), ("c", .null)])
    for name in ["", "b", "d", "a\0"] { map[name] = nil }
    #expect(map == StoredMap([("a", .null), ("c", .null)]))
  }

  /// Random changes to a map and to a dictionary of bytes.
  @Test func mapMatchesADictionaryOrderedByBytes() {
    let seed: UInt64 = 32
    var rng = SeededRNG(seed: seed)
    var wrong: [String] = []
    for script in 0..<200 {
      var map = StoredMap()
      var model: [[UInt8]: Int64] = [:]
      for step in 0..<100 {
        let name = rng.oneIn(2) ? rng.pick(["a", "b", "a\0", "\u{E9}", "e\u{301}"]) : Names.any(&rng)
        let number = rng.oneIn(3) ? nil : Int64(step)
        map[name] = number.map(StoredValue.integer)
        model[Array(name.utf8)] = number
        if map[name] != number.map(StoredValue.integer) { wrong.append("\(script).\(step)") }
      }
      let sorted = model.sorted { $0.key.lexicographicallyPrecedes($1.key) }
      if map.entries.map({ Array($0.name.utf8) }) != sorted.map(\.key) { wrong.append("\(script): names") }
      if map.entries.map(\.value) != sorted.map({ StoredValue.integer($0.value) }) {
        wrong.append("\(script): values")
      }
    }
    #expect(wrong == [], "seed \(seed)")
  }

  // MARK: Many paths at once

  private let places = [
    field("a"), field("a", "x"), field("b"), field("c", "x"), field("c", "x", "y"), field("c", "z"),
    field("d", "e", "f"), field("\u{E9}"), field("e\u{301}", "x"), field("zz"),
  ]

  private static func map(_ rng: inout SeededRNG, depth: Int) -> StoredMap {
    let names = depth == 0 ? ["a", "b", "c", "d", "\u{E9}", "e\u{301}", "zz"] : ["x", "y", "z", "e", "f"]
    return StoredMap(
      (0..<rng.roll(6)).map { _ in
        let inner = depth < 3 && rng.oneIn(2) ? StoredValue.map(map(&rng, depth: depth + 1)) : nil
        return (rng.pick(names), inner ?? .integer(Int64(rng.roll(100))))
      })
  }

  /// A reference implementation that applies one path at a time to an empty map.
  private func replacingOneByOne(
    _ map: StoredMap, _ paths: [StoredFieldPath], _ source: StoredMap
  ) -> StoredMap {
    paths.reduce(map) { map, path in
      var map = map
      if let value = source[path] { map.set(value, at: path) } else { map.remove(path.names[...]) }
      return map
    }
  }

  @Test func replacingManyPlacesIsReplacingEach() {
    let seed: UInt64 = 34
    var rng = SeededRNG(seed: seed)
    var wrong: [String] = []
    for round in 0..<5000 {
      let map = Self.map(&rng, depth: 0)
      let source = Self.map(&rng, depth: 0)
      let paths = FieldMask((0..<rng.roll(8)).map { _ in rng.pick(places) }).paths
      let expected = replacingOneByOne(map, paths, source)
      let found = map.replacing(paths, from: source)
      if found != expected { wrong.append("round \(round): \(found) instead of \(expected)") }
    }
    #expect(wrong == [], "seed \(seed)")
  }

  @Test func selectingManyPlacesIsSelectingEach() {
    let seed: UInt64 = 35
    var rng = SeededRNG(seed: seed)
    var wrong: [String] = []
    for round in 0..<5000 {
      let map = Self.map(&rng, depth: 0)
      let paths = FieldMask((0..<rng.roll(12)).map { _ in rng.pick(places) }).paths
      let expected = replacingOneByOne(StoredMap(), paths, map)
      let found = map.selecting(paths)
      if found != expected { wrong.append("round \(round): \(found) instead of \(expected)") }
    }
    #expect(wrong == [], "seed \(seed)")
  }

  @Test(.timeLimit(.minutes(1))) func aMaskOfManyPathsIsNotReadForEachDocument() {
    let mask = FieldMask((0..<50_000).map { field("a", String($0)) })
    let map = StoredMap([("a", .map(StoredMap([("7", .integer(7)), ("x", .null)]))), ("b", .null)])
    for _ in 0..<50_000 {
      let found = map.selecting(mask.paths)
      guard found == StoredMap([("a", .map(StoredMap([("7", .integer(7))])))]) else {
        Issue.record("\(found)")
        return
      }
    }
  }

  @Test func aPathIsFollowedNoDeeperThanTheMaps() async {
    let deep = [StoredFieldPath(unchecked: Array(repeating: "a", count: 5000))]
    let map = StoredMap([("a", .map(StoredMap([("a", .integer(1))])))])
    // A recursion for each name would overflow the stack.
    let (replaced, selected) = await withCheckedContinuation { continuation in
      let thread = Thread {
        continuation.resume(returning: (map.replacing(deep, from: StoredMap()), map.selecting(deep)))
      }
      thread.stackSize = 1 << 18
      thread.start()
    }
    #expect(replaced == map && selected.isEmpty)
  }

  @Test func manyFieldsAreReplacedInOnePass() {
    let even = StoredMap((0..<40_000).map { (String(1_000_000 + 2 * $0), .null) })
    let odd = StoredMap((0..<40_000).map { (String(1_000_001 + 2 * $0), .boolean(true)) })
    let both = even.replacing(FieldMask(leavesOf: odd).paths, from: odd)
    #expect(both == StoredMap(even.entries + odd.entries))
    #expect(both.replacing(FieldMask(leavesOf: even).paths, from: StoredMap()) == odd)
  }
}

extension StoredMap {
  fileprivate mutating func remove(_ names: ArraySlice<String>) {
    guard let name = names.first else { return }
    guard names.count > 1 else {
      self[name] = nil
      return
    }
    guard case .map(var inner) = self[name] else { return }
    inner.remove(names.dropFirst())
    self[name] = .map(inner)
  }
}
