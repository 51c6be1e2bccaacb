// Fields by name: sorted by bytes, each name once, whatever the order in which they came.

import DocumentStore
import Testing

@Suite struct StoredMapTests {
  @Test func fieldsStandInTheOrderOfTheirNamesBytes() {
    let names = ["", "\0", "A", "a", "a\0", "aa", "b", "e\u{301}", "\u{E9}", "\u{FFFF}", "\u{1F600}"]
    var dice = Dice(seed: 31)
    for _ in 0..<200 {
      let map = StoredMap(names.shuffled(using: &dice).map { (name: $0, value: StoredValue.null) })
      #expect(map.entries.map { Array($0.name.utf8) } == names.map { Array($0.utf8) })
      #expect(map.count == names.count)
      #expect(!map.isEmpty)
    }
  }

  @Test func ofSeveralFieldsWithOneNameTheLastCounts() {
    let map = StoredMap([("b", .integer(1)), ("a", .integer(2)), ("b", .integer(3)), ("a", .integer(4))])
    #expect(map == StoredMap([("a", .integer(4)), ("b", .integer(3))]))
  }

  @Test func namesThatLookTheSameAreTwoFields() {
    var map = StoredMap([("\u{E9}", .integer(1)), ("e\u{301}", .integer(2))])
    #expect(map.count == 2)
    #expect(map["\u{E9}"] == .integer(1))
    #expect(map["e\u{301}"] == .integer(2))
    map["e\u{301}"] = nil
    #expect(map.count == 1)
    #expect(map["e\u{301}"] == nil)
    #expect(map["\u{E9}"] == .integer(1))
  }

  @Test func removingWhatIsNotThereChangesNothing() {
    var map = StoredMap([("a", .null), ("c", .null)])
    for name in ["", "b", "d", "a\0"] { map[name] = nil }
    #expect(map == StoredMap([("a", .null), ("c", .null)]))
  }

  /// The same random settings and removals here and in a dictionary of bytes.
  @Test func aMapIsADictionaryOfBytesInOrder() {
    let seed: UInt64 = 32
    var dice = Dice(seed: seed)
    for script in 0..<200 {
      var map = StoredMap()
      var model: [[UInt8]: Int64] = [:]
      for step in 0..<100 {
        let name = dice.oneIn(2) ? dice.pick(["a", "b", "a\0", "\u{E9}", "e\u{301}"]) : Names.any(&dice)
        let number = dice.oneIn(3) ? nil : Int64(step)
        map[name] = number.map(StoredValue.integer)
        model[Array(name.utf8)] = number
        #expect(map[name] == number.map(StoredValue.integer), "seed \(seed), \(script).\(step)")
      }
      let sorted = model.sorted { $0.key.lexicographicallyPrecedes($1.key) }
      #expect(map.entries.map { Array($0.name.utf8) } == sorted.map(\.key), "seed \(seed), \(script)")
      #expect(
        map.entries.map(\.value) == sorted.map { .integer($0.value) }, "seed \(seed), \(script)")
    }
  }
}
