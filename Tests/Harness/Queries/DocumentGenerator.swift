// Generates random documents that queries are likely to match, with values that tend to reveal errors in
// comparisons.
//
// Special values come from lists, because random values would include them too rarely.

package import DocumentStore

package struct DocumentGenerator {
  package var random: SeededRandom
  /// The number of additional plain names. A collection that has more documents than there are special names
  /// needs them.
  private let plainIDs: Int

  package init(seed: UInt64, plainIDs: Int = 0) {
    random = SeededRandom(seed: seed)
    self.plainIDs = plainIDs
  }

  static let collections = [
    ["c"], ["c", "x", "c"], ["c", "__id7__", "c"], ["d"], ["d", "x", "c"], ["c\u{301}"],
  ]

  /// Document ids with a special order. Numeric ids come first, ordered by number. All others are ordered by
  /// their bytes, which differs from the order of Swift strings.
  static let ids = [
    "__id7__", "__id-7__", "__id10__", "__id9223372036854775807__", "__id7_", "a", "aa", "b", "x", "\0",
    "\u{E9}", "e\u{301}", "\u{FFFF}", "\u{1F600}", "10", "7",
    // These names are longer than the keys of an index tree.
    long, long + "a",
  ]

  /// Field paths, including canonically equivalent names, a name that contains a dot, and fields of nested
  /// maps.
  static let fields = [
    ["a"], ["b"], ["c"], ["m", "a"], ["m", "b"], ["m"], ["m", "m", "a"], ["a.b"], ["\u{E9}"], ["e\u{301}"],
  ].map(StoredFieldPath.init(unchecked:))

  static let strings: [String] =
    nearlyLong + [
      "", "\0", "a", "a\0", "aa", "b", "e\u{301}", "\u{E9}", "\u{FFFD}", "\u{FFFF}", "\u{1F600}",
      "\u{10FFFF}",
      // These strings are longer than index keys. Some of them have a common prefix that is also longer than
      // an index key.
      long, long + "a", long + "b", long + "a" + long, String(long.dropLast(40)),
    ]

  /// Strings whose index keys are close to the maximum length, together with the bytes before and after them.
  private static let nearlyLong: [String] = [741, 742, 745, 750, 754, 757].map { count in
    String(long.prefix(count)) + (count % 2 == 0 ? "a" : "")
  }

  private static let long = String(repeating: "long", count: 200)

  static let integers: [Int64] = [
    0, 1, -1, 2, 3, 1 << 53, (1 << 53) + 1, (1 << 53) - 1, -(1 << 53) - 1, .max, .max - 1, .max - 1023, .min,
    .min + 1,
  ]

  static let doubles: [Double] = [
    0, -0.0, 1, -1, 0.5, 1.5, 2, .nan, -.nan, .infinity, -.infinity, 0x1p53, 0x1p53 + 2, 0x1p63, -0x1p63,
    0x1p63.nextDown, (-0x1p63).nextDown, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 0.1, 1e16,
  ]

  /// Returns documents with distinct paths.
  package mutating func documents(_ count: Int) -> [StoredDocument] {
    var documents: [DocumentPath: StoredDocument] = [:]
    for _ in 0..<count {
      let document = document()
      documents[document.path] = document
    }
    // The documents are sorted first, so that a seed reproduces their order.
    return documents.values.sorted { NaiveOrder.compare($0.path, $1.path) < 0 }.shuffled(using: &random)
  }

  package mutating func document() -> StoredDocument {
    let time = Self.timestamps[1]
    var fields = StoredMap()
    for field in Self.fields where !random.oneIn(6) {
      set(random.oneIn(12) ? .null : value(), at: field.names[...], in: &fields)
    }
    return StoredDocument(path: path(), createTime: time, updateTime: time, fields: fields)
  }

  mutating func path() -> DocumentPath {
    guard plainIDs > 0, !random.oneIn(20) else {
      return DocumentPath(unchecked: pick(Self.collections) + [pick(Self.ids)])
    }
    let collection = random.oneIn(4) ? pick(Self.collections) : Self.collections[0]
    return DocumentPath(unchecked: collection + ["n\(random.below(plainIDs))"])
  }

  /// Returns a random value, mostly a small number, so that documents often have equal values.
  mutating func value(depth: Int = 2) -> StoredValue {
    switch random.below(20) {
    case 0...3: return .integer(Int64(random.below(4)))
    case 4, 5: return .double(Double(random.below(8)) / 2)
    case 6, 7: return .integer(pick(Self.integers))
    case 8, 9: return .double(pick(Self.doubles))
    case 10: return .null
    case 11: return .boolean(random.oneIn(2))
    case 12:
      let timestamp = pick(Self.timestamps)
      guard random.oneIn(3) else { return .timestamp(timestamp) }
      // The value of an unconfirmed server timestamp.
      return .pendingTimestamp(timestamp, previous: random.oneIn(2) ? nil : .integer(Int64(random.below(4))))
    case 13, 14: return .string(pick(Self.strings))
    case 15: return pick([bytes(), reference()])
    case 16: return .geoPoint(pick(Self.places))
    case 17: return .vector((0..<random.below(3)).map { _ in pick(Self.doubles) })
    case 18: return .array((0..<random.below(4)).map { _ in depth > 0 ? value(depth: depth - 1) : .null })
    default: return .map(map(depth: depth))
    }
  }

  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[random.below(elements.count)] }

  private mutating func bytes() -> StoredValue {
    .bytes((0..<random.below(3)).map { _ in pick([0, 1, 0x7F, 0x80, 0xFF]) })
  }

  private mutating func reference() -> StoredValue {
    .reference(StoredReference(projectID: pick(["p", "q"]), databaseID: pick(["d", "e"]), path: path()))
  }

  private mutating func map(depth: Int) -> StoredMap {
    guard depth > 0 else { return StoredMap() }
    return StoredMap(
      (0..<random.below(3)).map { _ in
        (name: pick(Self.strings + ["a", "b"]), value: value(depth: depth - 1))
      })
  }

  private mutating func set(_ value: StoredValue, at names: ArraySlice<String>, in map: inout StoredMap) {
    guard let name = names.first else { return }
    if names.count == 1 {
      map[name] = value
    } else {
      var inner = StoredMap()
      if case .map(let present)? = map[name] { inner = present }
      set(value, at: names.dropFirst(), in: &inner)
      map[name] = .map(inner)
    }
  }

  private static let timestamps = [-1, 0, 1, 1_000_000].compactMap(StoredTimestamp.init(microseconds:))

  private static let places = [(0, 0), (-0.0, 0), (0, 1), (-90, 180)].compactMap(StoredGeoPoint.init)
}
