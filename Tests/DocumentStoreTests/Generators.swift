// Generators for random paths, values, documents and bytes.
//
// Everything is determined by a seed. Problematic cases are picked from lists, so they occur often.

import DocumentStore

/// SplitMix64: a seed gives the same sequence of numbers on every machine.
struct SeededRNG: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns a number in 0 ..< sides. The bias is too small for tests to notice.
  mutating func roll(_ sides: Int) -> Int { Int(truncatingIfNeeded: (next() >> 1) % UInt64(sides)) }

  mutating func oneIn(_ sides: Int) -> Bool { roll(sides) == 0 }

  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[roll(elements.count)] }
}

// MARK: Names and paths

enum Names {
  /// Ids that sort before all other ids and are ordered by number.
  static let numeric = [
    "__id0__", "__id5__", "__id-5__", "__id9__", "__id10__", "__id-10__", "__id255__", "__id256__",
    "__id9223372036854775807__", "__id-9223372036854775808__", "__id-1__", "__id1__",
  ]

  /// Unusual, valid names.
  static let odd =
    plain + almostReserved + looksAlike + bytesAtTheEdges
    + [String(repeating: "n", count: 1499), String(repeating: "n", count: 1500)]

  /// Invalid names: they have the form `__.*__`, but their middle is not `id` followed by an Int64 in
  /// canonical form.
  static let reserved = [
    "____", "_____", "__a__", "__id__", "__id-__", "__id01__", "__id-01__", "__id+5__", "__id-0__",
    "__id5 __", "__id 5__", "__id5.0__", "__id0x5__", "__ID5__", "__id5a__", "__id5___", "___id5__",
    "__id9223372036854775808__", "__id-9223372036854775809__", "__id\u{FF15}__", "__name__",
    "__id5\0__", "__\0__", "__é__", "__😀__",
  ]

  private static let plain = ["a", "b", "aa", "ab", "A", "0", "9", "10", "-5", "rooms", "eros", " ", "%"]

  private static let almostReserved = [
    "_", "__", "___", "__a", "a__", "__a_", "_a__", "__id5", "id5__", "_id5_", "__id5_", "...", ".a",
    "a.", "__id5__a", "a__id5__",
  ]

  /// Pairs of canonically equivalent strings. As names, the two strings of a pair differ.
  private static let looksAlike = [
    "\u{E9}", "e\u{301}", "K", "\u{212A}", "\u{C5}", "\u{212B}", "\u{AC00}", "\u{1100}\u{1161}",
    "q\u{307}\u{323}", "q\u{323}\u{307}", "e",
  ]

  /// First and last scalars of each UTF-8 length, zeros, and scalars that combine with their neighbors.
  private static let bytesAtTheEdges = [
    "\0", "\0\0", "a\0", "a\0\0", "a\0b", "a\u{1}", "\u{1}", "\0\u{1}", "\u{7F}", "\u{80}", "\u{7FF}",
    "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFD}", "\u{FFFF}", "\u{10000}", "\u{1F600}", "\u{10FFFF}",
    "\r\n", "\n", "\u{301}", "\u{301}x", "x\u{600}", "\u{200D}", "\u{FEFF}", "\u{1F1EB}\u{1F1F7}",
  ]

  private static let lettersOfExtensions: [String] = [
    "\0", "\u{1}", "a", "b", "_", "0", "9", "é", "\u{301}", "\u{FFFF}", "\u{1F600}",
  ]

  static func any(_ rng: inout SeededRNG) -> String {
    switch rng.roll(8) {
    case 0, 1: return rng.pick(numeric)
    case 2: return "__id\(Int64(truncatingIfNeeded: rng.next()) >> Int64(rng.roll(64)))__"
    case 3, 4, 5: return rng.pick(odd)
    case 6: return extended("", by: 1 + rng.roll(4), &rng)
    default: return extended(rng.pick(odd), by: 1, &rng)
    }
  }

  /// Appends a few letters, if the name stays valid.
  static func extended(_ name: String, by count: Int, _ rng: inout SeededRNG) -> String {
    let longer = (0..<count).reduce(name) { name, _ in name + rng.pick(lettersOfExtensions) }
    return longer.utf8.count <= 1500 ? longer : name
  }
}

extension DocumentPath {
  static func any(_ rng: inout SeededRNG) -> DocumentPath {
    while true {
      let count = 2 * (1 + rng.roll(3) * rng.roll(3))
      if let path = try? DocumentPath((0..<count).map { _ in Names.any(&rng) }) { return path }
    }
  }

  /// A path that differs from this one in one place. Such pairs are likely to reveal errors in sort orders.
  func neighbour(_ rng: inout SeededRNG) -> DocumentPath {
    while true {
      var segments = segments
      let index = rng.roll(segments.count)
      switch rng.roll(4) {
      case 0: segments[index] = Names.any(&rng)
      case 1: segments[index] = Names.extended(segments[index], by: 1, &rng)
      case 2: segments += [Names.any(&rng), Names.any(&rng)]
      default: segments.removeLast(segments.count > 2 ? 2 : 0)
      }
      if let path = try? DocumentPath(segments) { return path }
    }
  }
}

// MARK: Values and documents

enum Values {
  static let integers: [Int64] = [
    0, 1, -1, .max, .min, .max - 1, .min + 1, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1, 255, 256, 1 << 32,
  ]

  static let doubles: [Double] = [
    0, -0.0, 1, -1, .nan, -.nan, .infinity, -.infinity, .greatestFiniteMagnitude,
    .leastNonzeroMagnitude, .leastNormalMagnitude, 0.1, 9_007_199_254_740_992, 0x1p63, -0x1p63,
  ]

  static let timestamps: [StoredTimestamp] =
    [0, 1, -1, 999_999, 1_000_000, -1_000_000, -1_000_001]
    .map(timestamp) + [.first, .last]

  static let geoPoints: [StoredGeoPoint] = [
    (0, 0), (-0.0, 0), (90, 180), (-90, -180), (51.5, -0.1), (.leastNonzeroMagnitude, 180),
  ].compactMap(StoredGeoPoint.init)

  /// A scalar of any type, or an empty container.
  static func scalar(_ rng: inout SeededRNG) -> StoredValue {
    switch rng.roll(13) {
    case 0: .null
    case 1: .boolean(rng.oneIn(2))
    case 2: .integer(rng.oneIn(2) ? rng.pick(integers) : Int64(bitPattern: rng.next()))
    case 3: .double(rng.oneIn(2) ? rng.pick(doubles) : Double(bitPattern: rng.next()))
    case 4: .timestamp(rng.pick(timestamps))
    case 5: .string(rng.pick(Names.odd + Names.reserved + ["", "/", "a/b"]))
    case 6: .string(Names.extended("", by: rng.roll(6), &rng))
    case 7: .bytes((0..<rng.roll(8)).map { _ in rng.pick([0, 1, 0x7F, 0x80, 0xFF]) })
    case 8: .reference(StoredReference(projectID: "p", databaseID: "(default)", path: .any(&rng)))
    case 9: .geoPoint(rng.pick(geoPoints))
    case 10: .vector((0..<rng.roll(4)).map { _ in rng.pick(doubles) })
    case 11: .array([])
    default: .map(StoredMap())
    }
  }

  static func any(_ rng: inout SeededRNG, depthLeft: Int) -> StoredValue {
    guard depthLeft > 0, rng.oneIn(3) else { return scalar(&rng) }
    if rng.oneIn(2) {
      return .array((0..<rng.roll(4)).map { _ in any(&rng, depthLeft: depthLeft - 1) })
    }
    return .map(map(&rng, depthLeft: depthLeft - 1))
  }

  static func map(_ rng: inout SeededRNG, depthLeft: Int) -> StoredMap {
    StoredMap(
      (0..<rng.roll(5)).map { _ in
        (name: rng.oneIn(9) ? "" : Names.any(&rng), value: any(&rng, depthLeft: depthLeft))
      })
  }

  /// A value inside `depth` levels of alternating arrays and maps.
  static func tower(_ depth: Int, around value: StoredValue = .null) -> StoredValue {
    (0..<depth).reduce(value) { inner, floor in
      floor % 2 == 0 ? .array([inner]) : .map(StoredMap([(name: "m", value: inner)]))
    }
  }

  /// Random fields, which sometimes have the maximum depth of a document.
  static func fields(_ rng: inout SeededRNG) -> StoredMap {
    var fields = map(&rng, depthLeft: 4)
    switch rng.roll(12) {
    case 0: fields["tower"] = tower(17 + rng.roll(3), around: scalar(&rng))
    case 1: fields["tower"] = tower(20, around: .integer(20))
    default: break
    }
    return fields
  }
}

extension StoredMap {
  /// Removes invalid names and arrays directly inside arrays.
  var storable: StoredMap {
    StoredMap(
      entries.compactMap { name, value in
        let isReserved = name.utf8.starts(with: "__".utf8) && name.utf8.reversed().starts(with: "__".utf8)
        return name.isEmpty || isReserved ? nil : (name, value.storable)
      })
  }
}

extension StoredValue {
  fileprivate var storable: StoredValue {
    switch self {
    case .map(let map): return .map(map.storable)
    case .array(let elements):
      return .array(
        elements.map { element in
          if case .array(let inner) = element { return .bytes(Array(repeating: 0, count: inner.count)) }
          return element.storable
        })
    default: return self
    }
  }
}

extension StoredTimestamp {
  /// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999Z.
  static let first = timestamp(-62_135_596_800_000_000)
  static let last = timestamp(253_402_300_799_999_999)
}

/// `microseconds` must be in range.
func timestamp(_ microseconds: Int64) -> StoredTimestamp {
  guard let timestamp = StoredTimestamp(microseconds: microseconds) else {
    preconditionFailure("\(microseconds) is no timestamp between the years 1 and 9999")
  }
  return timestamp
}

// MARK: Damage

extension [UInt8] {
  /// Changes the bytes in one to three places, as file damage or an attacker would.
  func damaged(_ rng: inout SeededRNG, splicing other: [UInt8]) -> [UInt8] {
    var bytes = self
    for _ in 0...rng.roll(3) { bytes.damageOnce(&rng, splicing: other) }
    return bytes
  }

  private mutating func damageOnce(_ rng: inout SeededRNG, splicing other: [UInt8]) {
    guard !isEmpty else { return append(UInt8(truncatingIfNeeded: rng.next())) }
    let index = rng.roll(count)
    switch rng.roll(9) {
    case 0, 1: self[index] ^= 1 << UInt8(rng.roll(8))
    case 2: self[index] = rng.pick([0, 1, 2, 3, 10, 12, 0x2F, 0x5F, 0x7F, 0x80, 0xC0, 0xED, 0xFF])
    case 3: self[index] = UInt8(truncatingIfNeeded: Int(self[index]) + (rng.oneIn(2) ? 1 : -1))
    case 4: overwrite(rng.pick([0, 1, UInt32(count), 0x7FFF_FFFF, 0x8000_0000, .max]), at: index)
    case 5: removeLast(rng.roll(count))
    case 6: removeSubrange(index..<Swift.min(count, index + 1 + rng.roll(9)))
    case 7: insert(contentsOf: self[index..<Swift.min(count, index + 1 + rng.roll(9))], at: index)
    default: replaceSubrange(index..., with: other.dropFirst(rng.roll(other.count + 1)))
    }
  }

  private mutating func overwrite(_ value: UInt32, at index: Int) {
    for byte in 0..<4 where index + byte < count {
      self[index + byte] = UInt8(truncatingIfNeeded: value >> (8 * UInt32(byte)))
    }
  }

  /// Parses hexadecimal digits and ignores blanks.
  init(hexadecimal text: String) {
    let digits = text.compactMap(\.hexDigitValue)
    precondition(digits.count % 2 == 0, "two digits make a byte")
    self = stride(from: 0, to: digits.count, by: 2).map { UInt8(16 * digits[$0] + digits[$0 + 1]) }
  }

  var hexadecimal: String {
    map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
