// Queries and values from outside: each invalid part is refused with a sentence, and none traps.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct QueryPartsTests {
  private func complaint(_ change: (inout QueryParts) throws -> Void) throws -> String? {
    var parts = QueryParts(.collection(path("c", "x").parent))
    try change(&parts)
    return failure { try StructuredQuery(checking: parts) }?.complaint
  }

  @Test func validPartsMakeTheQueryOfTheBuilder() throws {
    var parts = QueryParts(.collection(path("c", "x").parent))
    parts.filter = .field(try FieldFilter(checking: "n", .greaterThan, operand: 3))
    parts.orders = [OrderBy("n", .descending)]
    parts.start = Cursor(
      .before, [9, .reference(StoredReference(projectID: "p", databaseID: "d", path: path("c", "x")))])
    parts.limit = .first(5)
    parts.offset = 2
    let query = try StructuredQuery(checking: parts)
    var expected = try StructuredQuery.ofC.where("n", .greaterThan, 3).order("n", .descending)
      .limited(to: .first(5)).skipping(2)
    expected.start = Cursor(.before, [9, .documentName(path("c", "x"))])
    #expect(query == expected && query.canonicalID == expected.canonicalID)
  }

  @Test func aLimitOfZeroFindsNothing() throws {
    let store = try DocumentStore.openInMemory()
    try store.commit([.set(path("c", "a"), StoredMap([("n", .integer(1))]))])
    for limit in [StructuredQuery.Limit.first(0), .last(0)] {
      var parts = QueryParts(.collection(path("c", "x").parent))
      parts.limit = limit
      parts.orders = [OrderBy("n")]
      let query = try StructuredQuery(checking: parts)
      #expect(try store.documents(query).isEmpty && store.count(query) == 0)
      #expect(try store.aggregate([.count, .sum("n")], over: query) == [.integer(0), .integer(0)])
      let consumer = StreamConsumer(store)
      try consumer.stream.listen(1, to: query)
      try store.commit([.set(path("c", "b"), StoredMap([("n", .integer(2))]))])
      consumer.run()
      #expect(consumer.ids(1) == [])
    }
  }

  @Test func invalidPartsAreRefused() throws {
    #expect(try complaint { $0.scope = .collectionGroup("") } != nil)
    #expect(try complaint { $0.scope = .collectionGroup("a/b") } != nil)
    #expect(try complaint { $0.scope = .collectionGroup("__stats__") } != nil)
    #expect(try complaint { $0.scope = .document(DocumentPath(unchecked: [])) } != nil)
    #expect(try complaint { $0.scope = .collection(CollectionPath(unchecked: ["a", "b"])) } != nil)
    #expect(
      try complaint { $0.filter = .any(Array(repeating: FilterTree.field("n", .equal, .null), count: 101)) }
        != nil)
    #expect(try complaint { $0.filter = .field("n", .isIn, []) } != nil)
    #expect(try complaint { $0.filter = .field(.documentID, .equal, 4) } != nil)
    #expect(
      try complaint { $0.orders = Array(repeating: OrderBy("n"), count: 101) } != nil)
    #expect(try complaint { $0.orders = [OrderBy("n"), OrderBy("n", .descending)] } != nil)
    #expect(try complaint { $0.start = Cursor(.before, []) } != nil)
    #expect(try complaint { $0.start = Cursor(.before, ["x"]) } != nil, "a name that is no reference")
    #expect(
      try complaint {
        $0.orders = [OrderBy("n")]
        $0.end = Cursor(.after, [1, .documentName(path("c", "x")), 3])
      } != nil)
    #expect(try complaint { $0.limit = .first(-1) } != nil && complaint { $0.limit = .last(3) } != nil)
    #expect(try complaint { $0.offset = -1 } != nil)
    #expect(try complaint { _ in } == nil)
  }

  @Test func operatorsOfListsRefuseOtherOperands() {
    for kind in FieldFilter.Operator.allCases {
      let error = failure { try FieldFilter(checking: "n", kind, operand: 1) }
      #expect((error?.complaint?.contains(kind.rawValue) == true) == kind.takesList)
      #expect(failure { try FieldFilter(checking: "n", kind, operand: [1]) } == nil)
    }
  }

  @Test func invalidValuesAreRefused() throws {
    #expect(failure { try StoredTimestamp(checkingSeconds: .max, nanoseconds: 0) }?.complaint != nil)
    #expect(failure { try StoredTimestamp(checkingSeconds: 0, nanoseconds: -1) }?.complaint != nil)
    #expect(try StoredTimestamp(checkingSeconds: 1, nanoseconds: 2500).microseconds == 1_000_002)
    #expect(failure { try StoredGeoPoint(checkingLatitude: .nan, longitude: 0) }?.complaint != nil)
    #expect(failure { try StoredGeoPoint(checkingLatitude: 0, longitude: 181) }?.complaint != nil)
    #expect(failure { try StoredNumber(checking: "1") }?.complaint != nil)
    #expect(try StoredNumber(checking: 1) == .integer(1))
    #expect(failure { try StoredValue.vector(checking: Array(repeating: 0, count: 2049)) }?.complaint != nil)
    #expect(try StoredValue.vector(checking: [1]) == .vector([1]))
    for text in ["", ".", "a.", "a..b", "`a", "a b", "``", String(repeating: "a", count: 1501)] {
      #expect(failure { try StoredFieldPath(checking: text) }?.complaint != nil, "\(text.prefix(9))")
    }
    #expect(failure { try FieldMask(checking: ["a", "b."]) }?.complaint != nil)
    #expect(try FieldMask(checking: ["a.b", "a", "`c d`"]).paths.map(\.canonical) == ["a", "`c d`"])
  }

  /// Parts that no builder has seen either make a query whose result is right, or are refused.
  @Test(arguments: [1, 2, 3] as [UInt64])
  func randomPartsAreRefusedOrAnswered(seed: UInt64) throws {
    let store = try DocumentStore.openInMemory()
    var rng = SeededRNG(seed: seed)
    let documents = (0..<40).map { number in
      document(
        "d\(number)", ("n", .integer(Int64(rng.roll(9)))), ("m", .array([.integer(Int64(rng.roll(4)))])))
    }
    try store.commit(documents.map { .set($0.path, $0.fields) })
    let stored = try store.documents(.ofC)
    var (answered, refused) = (0, 0)
    for _ in 0..<400 {
      let parts = randomParts(&rng)
      guard let query = try? StructuredQuery(checking: parts) else {
        refused += 1
        continue
      }
      answered += 1
      let expected = query.answer(from: stored).map(\.path)
      #expect(try store.documents(query).map(\.path) == expected, "seed \(seed): \(query.canonicalID)")
      let consumer = StreamConsumer(store)
      try consumer.stream.listen(1, to: query)
      consumer.run()
      #expect(consumer.state(1)?.documents.map(\.path) == expected, "seed \(seed): \(query.canonicalID)")
      consumer.stream.close()
    }
    #expect(answered > 50 && refused > 50)
  }

  private func randomParts(_ rng: inout SeededRNG) -> QueryParts {
    let scopes: [StructuredQuery.Scope] = [
      .collection(CollectionPath(unchecked: ["c"])), .collectionGroup("c"), .document(path("c", "d1")),
      .collectionGroup(""), .collection(CollectionPath(unchecked: ["", ""])),
    ]
    var parts = QueryParts(rng.oneIn(4) ? rng.pick(scopes) : scopes[0])
    if rng.oneIn(2) { parts.filter = randomFilter(&rng, depth: 3) }
    parts.orders = (0..<rng.roll(3)).map { _ in
      OrderBy(rng.pick(Self.fields), rng.pick([.ascending, .descending]))
    }
    if rng.oneIn(3) { parts.start = randomCursor(&rng) }
    if rng.oneIn(3) { parts.end = randomCursor(&rng) }
    if rng.oneIn(2) { parts.limit = rng.pick([.first(rng.roll(50) - 2), .last(rng.roll(9)), .first(.max)]) }
    if rng.oneIn(3) { parts.offset = rng.pick([0, 1, 7, 100, -3, .max, Int(Int32.max)]) }
    return parts
  }

  private static let fields: [StoredFieldPath] = ["n", "m", "absent", .documentID]

  private static let values: [StoredValue] = [
    .null, .integer(1), .integer(3), .double(2.5), .double(.nan), .string(""), .string("/"), .string("d1"),
    .string("c/d1"), .array([.integer(1), .integer(2)]), .array([]), .array([.null]),
    .documentName(path("c", "d7")), foreignReference, .map(StoredMap([("a", .integer(1))])), .vector([]),
    .bytes([0]),
  ]

  private static let foreignReference = StoredValue.reference(
    StoredReference(projectID: "p", databaseID: "", path: DocumentPath(unchecked: ["c", "d3"])))

  private func randomCursor(_ rng: inout SeededRNG) -> Cursor {
    Cursor(rng.pick([.before, .after]), (0..<rng.roll(4)).map { _ in rng.pick(Self.values) })
  }

  private func randomFilter(_ rng: inout SeededRNG, depth: Int) -> FilterTree {
    switch rng.roll(depth > 0 ? 5 : 3) {
    case 3: return .all((0..<rng.roll(3)).map { _ in randomFilter(&rng, depth: depth - 1) })
    case 4: return .any((0..<rng.roll(3)).map { _ in randomFilter(&rng, depth: depth - 1) })
    default:
      let (field, kind, operand) = (
        rng.pick(Self.fields), rng.pick(FieldFilter.Operator.allCases), rng.pick(Self.values)
      )
      let filter = try? FieldFilter(checking: field, kind, operand: operand)
      return filter.map { .field($0) } ?? .all([])
    }
  }
}
