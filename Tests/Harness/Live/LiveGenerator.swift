// Random documents, changes and queries for listeners.
//
// Most queries match few documents, so that thousands of them can be compared after each change.

import DocumentStore

struct LiveGenerator {
  var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  private static let number = StoredFieldPath(unchecked: ["n"])
  private static let kind = StoredFieldPath(unchecked: ["k"])
  private static let tags = StoredFieldPath(unchecked: ["tags"])
  private static let part = StoredFieldPath(unchecked: ["p"])
  private static let inner = StoredFieldPath(unchecked: ["m", "x"])

  // MARK: Documents

  mutating func path() -> DocumentPath {
    if random.oneIn(3) { return DocumentPath(unchecked: ["users", "u\(random.below(200))"]) }
    return DocumentPath(
      unchecked: ["rooms", "r\(random.below(20))", "messages", "m\(random.below(30))"])
  }

  private mutating func numberValue() -> StoredValue {
    switch random.below(20) {
    case 0: .null
    case 1: .double(Double(random.below(400)) / 2)
    case 2: .string("\(random.below(50))")
    default: .integer(Int64(random.below(200)))
    }
  }

  private mutating func kindValue() -> StoredValue { .string("k\(random.below(100))") }

  /// Returns one of a few values, so that many documents share each value.
  private mutating func partValue() -> StoredValue { .integer(Int64(random.below(4))) }

  private mutating func tagValue() -> StoredValue { .integer(Int64(random.below(60))) }

  mutating func fields() -> StoredMap {
    var fields = StoredMap()
    if !random.oneIn(20) { fields["n"] = numberValue() }
    if !random.oneIn(20) { fields["k"] = kindValue() }
    fields["p"] = partValue()
    if random.oneIn(2) { fields["tags"] = .array((0..<random.below(4)).map { _ in tagValue() }) }
    fields["m"] = .map(StoredMap([("x", .integer(Int64(random.below(50))))]))
    return fields
  }

  mutating func mutations() -> [Mutation] {
    (0...random.below(random.oneIn(8) ? 6 : 2)).map { _ in
      let path = path()
      switch random.below(8) {
      case 0, 1: return .delete(path)
      case 2:
        return .patch(
          path, StoredMap([("n", numberValue())]), mask: FieldMask([Self.number]))
      case 3:
        return .patch(
          path, StoredMap(), mask: FieldMask([]),
          transforms: [FieldTransform(Self.number, .increment(.integer(Int64(1 + random.below(3)))))])
      case 4:
        return .patch(
          path, StoredMap(), mask: FieldMask([]),
          transforms: [FieldTransform(Self.tags, .arrayUnion([tagValue()]))])
      default: return .set(path, fields())
      }
    }
  }

  // MARK: Queries

  mutating func query() -> StructuredQuery {
    while true {
      if let query = try? attempt(), (try? query.check()) != nil { return query }
    }
  }

  private mutating func attempt() throws -> StructuredQuery {
    var query = StructuredQuery(scope())
    if case .document = query.scope { return query }
    let isWide = random.oneIn(100)
    if !isWide { query = try query.filtered(by: filter()) }
    if random.oneIn(4) { query = try query.filtered(by: additionalFilter()) }
    if isWide || random.oneIn(2) { query = try ordered(query) }
    if isWide || random.oneIn(3) {
      let count = 1 + random.below(random.oneIn(10) ? 60 : 6)
      query = try query.limited(to: random.oneIn(3) ? .last(count) : .first(count))
    }
    return query
  }

  private mutating func direction() -> OrderBy.Direction { random.oneIn(2) ? .ascending : .descending }

  private mutating func side() -> Cursor.Side { random.oneIn(2) ? .before : .after }

  /// Adds to the query an order by one field, two fields or the names. Some queries also get cursors, with at
  /// most one value per order.
  private mutating func ordered(_ query: StructuredQuery) throws -> StructuredQuery {
    let start = Int64(random.below(200))
    switch random.below(8) {
    case 0:
      let query = try query.ordered(by: OrderBy(.documentID, direction()))
      guard case .collection = query.scope, random.oneIn(2) else { return query }
      return try query.starting(side(), [.string("m\(random.below(30))")])
    case 1:
      let query = try query.ordered(by: OrderBy(Self.inner, direction()))
        .ordered(by: OrderBy(Self.number, direction()))
      let cursor = [StoredValue.integer(Int64(random.below(50))), .integer(start)]
      return random.oneIn(2) ? try query.starting(side(), cursor) : try query.ending(side(), cursor)
    default:
      var order = OrderBy(Self.number, direction())
      if random.oneIn(4) { order.missing = .asNull }
      var query = try query.ordered(by: order)
      guard random.oneIn(4) else { return query }
      query = try query.starting(side(), [.integer(start)])
      return random.oneIn(2) ? try query.ending(side(), [.integer(start + 5)]) : query
    }
  }

  private mutating func scope() -> StructuredQuery.Scope {
    switch random.below(20) {
    case 0: .document(path())
    case 1...4: .collection(path().parent)
    case 5...8: .collection(DocumentPath(unchecked: ["users", "u"]).parent)
    case 9: .collectionGroup("users")
    default: .collectionGroup("messages")
    }
  }

  private mutating func filter() -> FilterTree {
    switch random.below(12) {
    case 9: name()
    case 10: equalities()
    case 11: .any([equalities(), .all([range(3), equalities()])])
    case 0, 1: .field(Self.kind, .equal, kindValue())
    case 2: .field(Self.tags, .arrayContains, tagValue())
    case 3: .field(Self.kind, .isIn, .array([kindValue(), kindValue(), kindValue()]))
    case 4: .field(Self.tags, .arrayContainsAny, .array([tagValue(), tagValue()]))
    case 5: .any([.field(Self.kind, .equal, kindValue()), range(5)])
    case 6: .all([.field(Self.inner, .equal, .integer(Int64(random.below(50)))), range(100)])
    case 7: .field(Self.number, .equal, numberValue())
    default: range(4)
    }
  }

  /// Returns two equality filters in random order, the first common and the second selective.
  private mutating func equalities() -> FilterTree {
    let part = FilterTree.field(Self.part, .equal, partValue())
    let other: FilterTree =
      random.oneIn(2)
      ? .field(Self.kind, .equal, kindValue()) : .field(Self.number, .equal, numberValue())
    return .all(random.oneIn(2) ? [part, other] : [other, part])
  }

  private mutating func name() -> FilterTree {
    .field(.documentID, random.oneIn(2) ? .equal : .greaterThan, .documentName(path()))
  }

  private mutating func range(_ width: Int) -> FilterTree {
    let lower = random.below(200)
    return .all([
      .field(Self.number, random.oneIn(2) ? .greaterThan : .greaterThanOrEqual, .integer(Int64(lower))),
      .field(
        Self.number, random.oneIn(2) ? .lessThan : .lessThanOrEqual, .double(Double(lower + width) + 0.5)),
    ])
  }

  private mutating func additionalFilter() -> FilterTree {
    switch random.below(3) {
    case 0: .field(Self.number, .notEqual, .integer(Int64(random.below(200))))
    case 1: .field(Self.inner, .lessThan, .integer(Int64(10 + random.below(40))))
    default: .field(Self.kind, .notIn, .array([kindValue(), kindValue()]))
    }
  }
}
