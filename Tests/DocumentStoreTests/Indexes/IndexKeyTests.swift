// Index keys sort like the values in them.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct IndexKeyTests {
  private static let rungs = ValueOrderTests.ladder.flatMap(\.self)

  private func key(_ values: [StoredValue], _ directions: [OrderBy.Direction]) -> [UInt8] {
    var key: [UInt8] = []
    for (value, direction) in zip(values, directions) { IndexKey.append(value, direction, to: &key) }
    return key
  }

  private func key(_ value: StoredValue) -> [UInt8] { key([value], [.ascending]) }

  private func order(_ left: [UInt8], _ right: [UInt8]) -> Ordering {
    left == right ? .same : left.lexicographicallyPrecedes(right) ? .before : .after
  }

  /// A random value. Its first parts are often equal to those of other values, so that later parts decide the
  /// order.
  private func any(_ rng: inout SeededRNG) -> StoredValue {
    switch rng.roll(4) {
    case 0: return rng.pick(Self.rungs)
    case 1: return Values.any(&rng, depthLeft: 2)
    case 2: return .array((0..<rng.roll(3)).map { _ in rng.pick(Self.rungs) })
    default:
      return .map(
        StoredMap(
          (0..<rng.roll(3)).map { _ in (name: rng.pick(["", "a", "a\0"]), value: rng.pick(Self.rungs)) }))
    }
  }

  @Test func keysSortLikeTheValueOrder() {
    let rungs = Self.rungs.map { (value: $0, key: key($0)) }
    var wrong: [String] = []
    for left in rungs {
      for right in rungs where order(left.key, right.key) != ValueOrder.compare(left.value, right.value) {
        wrong.append("\(left.value) and \(right.value)")
      }
    }
    #expect(wrong == [])
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>) func keysOfSeveralValuesSortFieldByField(seed: UInt64) {
    var rng = SeededRNG(seed: seed)
    var wrong: [String] = []
    for _ in 0..<10_000 {
      let count = 1 + rng.roll(3)
      let directions = (0..<count).map { _ in rng.pick([OrderBy.Direction.ascending, .descending]) }
      let left = (0..<count).map { _ in any(&rng) }
      let right = left.map { rng.oneIn(2) ? $0 : any(&rng) }
      let orders = zip(directions, zip(left, right)).map { OrderBy("a", $0).compare($1.0, $1.1) }
      let expected = orders.first { $0 != .same } ?? .same
      if order(key(left, directions), key(right, directions)) != expected {
        wrong.append("\(left) and \(right), \(directions)")
      }
    }
    #expect(wrong == [], "seed \(seed)")
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>) func keyReaderStepsFromValueToValue(seed: UInt64) {
    var rng = SeededRNG(seed: seed)
    var wrong: [String] = []
    for _ in 0..<5_000 {
      let count = 1 + rng.roll(4)
      let directions = (0..<count).map { _ in rng.pick([OrderBy.Direction.ascending, .descending]) }
      let values = (0..<count).map { _ in rng.oneIn(3) ? .integer(rng.pick(Values.integers)) : any(&rng) }
      let key = [7, 7] + key(values, directions)
      var reader = IndexKeyReader(key.rawSpan, from: 2)
      for (value, direction) in zip(values, directions) {
        let found = reader.next(direction)
        switch (value, found) {
        case (.integer, .number(let number)):
          if number.value(.integers) != value { wrong.append("\(number) for \(value) in \(values)") }
        case (.double(let double), .number(let number)):
          let isSame = number.value(.doubles) == .double(double == 0 ? 0 : double)
          if !isSame { wrong.append("\(number) for \(value) in \(values)") }
        case (.integer, _), (.double, _), (_, .number), (_, nil):
          wrong.append("\(String(describing: found)) for \(value) in \(values)")
        case (_, .other): break
        }
      }
      if reader.next(.ascending) != nil { wrong.append("a value after the last of \(values)") }
      // A reader of a truncated key stops before the last value.
      let cut = key.prefix(2 + rng.roll(key.count - 2))
      var short = IndexKeyReader(Array(cut).rawSpan, from: 2)
      var passed = 0
      while passed < count, short.next(directions[passed]) != nil { passed += 1 }
      if passed == count { wrong.append("all values of \(values) in a truncated key") }
    }
    #expect(wrong == [], "seed \(seed)")
  }

  @Test func keyReaderNeverTraps() {
    var rng = SeededRNG(seed: 3)
    for _ in 0..<20_000 {
      let tag = rng.pick([0x10, 0x30, 0x40, 0x50, 0x70, 0x80, 0x90, 0xA0, 0xB0] as [UInt8])
      let key = [tag] + (0..<rng.roll(40)).map { _ in rng.pick([0, 1, 2, 0x30, 0x50, 0x90, 0xFF]) }
      var reader = IndexKeyReader(key.rawSpan, from: 0)
      for _ in 0..<50 where reader.next(.ascending) == nil { break }
    }
  }

  @Test func keysOrderIntegersAndDoublesOfAnySizeTogether() {
    var rng = SeededRNG(seed: 5)
    var wrong: [String] = []
    for _ in 0..<20_000 {
      let power = Double(sign: rng.oneIn(2) ? .plus : .minus, exponent: 50 + rng.roll(14), significand: 1)
      let double = power + Double(rng.roll(9) - 4) / 4
      let integer = Int64(exactly: power) ?? (power < 0 ? .min : .max)
      let near = integer.addingReportingOverflow(Int64(rng.roll(4097) - 2048))
      let values: [StoredValue] = [.double(double), .integer(near.overflow ? integer : near.partialValue)]
      let expected = ValueOrder.compare(values[0], values[1])
      if order(key(values[0]), key(values[1])) != expected { wrong.append("\(values)") }
    }
    #expect(wrong == [])
  }

  @Test func indexKeyBytesMatchTheGrammar() {
    #expect(key(.null).hexadecimal == "10")
    #expect(key(1).hexadecimal == "30bff0000000000000")
    #expect(key(1.0) == key(1))
    #expect(key(-0.0) == key(0))
    #expect(key(.integer(-9_007_199_254_740_993)).hexadecimal == "303cbffffffffffffe0001")
    #expect(key("a\0").hexadecimal == "506100ff0001")
    #expect(key(["a", .null]).hexadecimal == "905061000110" + "00")
    #expect(key([.null], [.descending]).hexadecimal == "ef")
  }
}
