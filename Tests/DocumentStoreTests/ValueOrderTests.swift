// The order of values, tested on a ladder of examples and by its laws on random values.

import Testing

@testable import DocumentStore

@Suite struct ValueOrderTests {
  /// Rungs from the lowest value to the highest. Values on one rung are equal in this order.
  static let ladder: [[StoredValue]] =
    [[.null], [.boolean(false)], [.boolean(true)]] + numbers
    + [
      [.timestamp(.first)], [.timestamp(timestamp(-1))], [.timestamp(timestamp(0))], [.timestamp(.last)],
    ] + strings
    + [
      [.bytes([])], [.bytes([0])], [.bytes([0, 0])], [.bytes([1])], [.bytes([0x7F, 0xFF])], [.bytes([0x80])],
    ] + references + places + arrays + vectors + maps

  private static let numbers: [[StoredValue]] = [
    [.double(.nan), .double(-.nan), .double(Double(bitPattern: 0xFFF8_0000_0000_0001))],
    [.double(-.infinity)],
    [.double(-.greatestFiniteMagnitude)],
    [.double((-0x1p63).nextDown)],
    [.integer(.min), .double(-0x1p63)],
    [.integer(.min + 1)],
    [.double((-0x1p63).nextUp)],
    [.integer(-9_007_199_254_740_993)],
    [.integer(-9_007_199_254_740_992), .double(-9_007_199_254_740_992)],
    [.integer(-2), .double(-2)],
    [.double(-1.5)],
    [.integer(-1), .double(-1)],
    [.double(-0.5)],
    [.double(-.leastNonzeroMagnitude)],
    [.integer(0), .double(0), .double(-0.0)],
    [.double(.leastNonzeroMagnitude)],
    [.double(0.5)],
    [.integer(1), .double(1)],
    [.double(1.5)],
    [.integer(2), .double(2)],
    [.integer(9_007_199_254_740_992), .double(9_007_199_254_740_992)],
    [.integer(9_007_199_254_740_993)],
    [.integer(9_007_199_254_740_994), .double(9_007_199_254_740_994)],
    [.double(0x1p63.nextDown), .integer(.max - 1023)],
    [.integer(.max - 1)],
    [.integer(.max)],
    [.double(0x1p63)],
    [.double(.greatestFiniteMagnitude)],
    [.double(.infinity)],
  ]

  /// UTF-16 would put U+1F600 before U+FFFF, and Swift treats the two forms of é as equal.
  private static let strings: [[StoredValue]] = [
    "", "\0", "\0\0", "a", "a\0", "aa", "b", "e\u{301}", "z", "\u{E9}", "\u{7FF}", "\u{D7FF}", "\u{E000}",
    "\u{FFFF}", "\u{1F600}", "\u{10FFFF}",
  ].map { [.string($0)] }

  private static let references: [[StoredValue]] = [
    reference("a", "y", "z", "z"), reference("b", "x", "z", "z"),
    reference("b", "y", "a", "__id-10__"), reference("b", "y", "a", "__id-9__"),
    reference("b", "y", "a", "__id9__"), reference("b", "y", "a", "__id10__"),
    reference("b", "y", "a", "\0"), reference("b", "y", "a", "__id"), reference("b", "y", "a", "b"),
    reference("b", "y", "a", "b", "a", "a"), reference("b", "y", "a", "b\0"),
    reference("b", "y", "a", "\u{FFFF}"), reference("b", "y", "a", "\u{1F600}"),
    reference("b", "y", "b", "a"),
  ].map { [$0] }

  private static let places: [[StoredValue]] = [
    [place(-90, 180)], [place(0, -180)], [place(0, 0), place(-0.0, 0), place(0, -0.0)], [place(0, 1)],
    [place(1, -1)],
  ]

  private static let arrays: [[StoredValue]] = [
    [.array([])], [.array([.null])], [.array([.null, .null])],
    [.array([.integer(1)]), .array([.double(1)])],
    [.array([.integer(1), .null]), .array([.double(1), .null])], [.array([.integer(2)])],
    [.array([.string("")])],
  ]

  private static let vectors: [[StoredValue]] = [
    [.vector([])], [.vector([.nan])], [.vector([0]), .vector([-0.0])], [.vector([9])],
    [.vector([.nan, 9])], [.vector([-1, 0])], [.vector([-1, 1])], [.vector([0, -1])],
  ]

  private static let maps: [[StoredValue]] = [
    [map()], [map(("", .null))], [map(("a", .null))], [map(("a", .null), ("b", .null))],
    [map(("a", .null), ("c", .null))],
    [map(("a", .integer(1))), map(("a", .double(1)))],
    [map(("a", .integer(1)), ("b", .null)), map(("a", .double(1)), ("b", .null))],
    [map(("a", .integer(2)))], [map(("b", .null))], [map(("e\u{301}", .null))], [map(("\u{E9}", .null))],
    [map(("\u{FFFF}", .null))], [map(("\u{1F600}", .null))],
  ]

  @Test func valuesOfAllTypesFollowTheDocumentedOrder() {
    let rungs = Self.ladder.enumerated().flatMap { rung, values in values.map { (rung, $0) } }
    var wrong: [String] = []
    for (lower, left) in rungs {
      for (upper, right) in rungs {
        let expected: Ordering = lower < upper ? .before : lower == upper ? .same : .after
        let order = ValueOrder.compare(left, right)
        let areEqual = ValueOrder.areEqual(left, right)
        if order != expected || areEqual != (lower == upper) {
          wrong.append("\(left) and \(right): \(order), equal: \(areEqual)")
        }
      }
    }
    #expect(wrong == [])
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>) func theOrderIsTotal(seed: UInt64) {
    var rng = SeededRNG(seed: seed)
    let rungs = Self.ladder.flatMap(\.self)
    func any() -> StoredValue { rng.oneIn(2) ? rng.pick(rungs) : Values.any(&rng, depthLeft: 2) }
    var wrong: [String] = []
    for _ in 0..<10_000 {
      let (a, b, c) = (any(), any(), any())
      let (ab, bc, ac) = (ValueOrder.compare(a, b), ValueOrder.compare(b, c), ValueOrder.compare(a, c))
      if ValueOrder.compare(a, a) != .same { wrong.append("\(a)") }
      if ValueOrder.compare(b, a) != ab.reversed { wrong.append("\(a) and \(b)") }
      var isTransitive = true
      if ab == .same { isTransitive = ac == bc }
      if bc == .same || ab == bc { isTransitive = isTransitive && ac == ab }
      if !isTransitive { wrong.append("\(a), \(b) and \(c): \(ab), \(bc) and \(ac)") }
    }
    #expect(wrong == [])
  }

  @Test func integersAndDoublesCompareAsNumbersOfAnySize() {
    var rng = SeededRNG(seed: 7)
    var wrong: [String] = []
    for _ in 0..<10_000 {
      // The value is near a power of two, in the range in which doubles begin to skip integers.
      let power = Double(sign: rng.oneIn(2) ? .plus : .minus, exponent: 50 + rng.roll(13), significand: 1)
      let double = power + Double(rng.roll(9) - 4) / 4
      let integer = Int64(power.rounded(.towardZero)) &+ Int64(rng.roll(9) - 4)
      // Each of the two values, multiplied by four, is exactly representable in 128 bits.
      let (left, right) = (4 * Int128(integer), Int128(4 * double))
      let expected: Ordering = left < right ? .before : left == right ? .same : .after
      let order = ValueOrder.compare(.integer(integer), .double(double))
      let opposite = ValueOrder.compare(.double(double), .integer(integer))
      if order != expected || opposite != expected.reversed {
        wrong.append("\(integer), \(double): \(order), and \(opposite) in reverse")
      }
    }
    #expect(wrong == [])
  }

  @Test func keysAndPathsHaveOneOrder() {
    var rng = SeededRNG(seed: 11)
    var wrong: [String] = []
    for _ in 0..<2_000 {
      let left = DocumentPath.any(&rng)
      let right = left.neighbour(&rng)
      let (leftKey, rightKey) = (DocumentKey.encode(left), DocumentKey.encode(right))
      let precedes = leftKey.lexicographicallyPrecedes(rightKey)
      let expected: Ordering = leftKey == rightKey ? .same : precedes ? .before : .after
      let order = ValueOrder.compare(left, right)
      if order != expected { wrong.append("\(left) and \(right): \(order)") }
    }
    #expect(wrong == [])
  }

  @Test func documentKeyBeginsWithTheKeyOfItsCollection() {
    var rng = SeededRNG(seed: 12)
    let names = ["a", "__id7__", "__id-9223372036854775808__", "__id__", "zero\0in\0it", "\0", "größer"]
    let paths = names.map { DocumentPath(unchecked: ["c", "d", $0, $0]) }
    var wrong: [String] = []
    for path in paths + (0..<1000).map({ _ in DocumentPath.any(&rng) }) {
      let key = DocumentKey.encode(path)
      let beginning = DocumentKey.beginning(of: path.parent)
      let cut = Array(DocumentKey.beginning(of: key, endingWith: path.id))
      let isProper = key.starts(with: beginning) && key.count > beginning.count + 2
      if cut != beginning || !isProper { wrong.append("\(path): \(cut) of \(key)") }
    }
    #expect(wrong == [])
  }

  private static func reference(_ project: String, _ database: String, _ path: String...) -> StoredValue {
    .reference(
      StoredReference(projectID: project, databaseID: database, path: DocumentPath(unchecked: path)))
  }

  private static func place(_ latitude: Double, _ longitude: Double) -> StoredValue {
    guard let place = StoredGeoPoint(latitude: latitude, longitude: longitude) else { return .null }
    return .geoPoint(place)
  }

  private static func map(_ entries: StoredMap.Entry...) -> StoredValue { .map(StoredMap(entries)) }
}
