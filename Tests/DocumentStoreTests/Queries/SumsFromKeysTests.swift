import ByteStore
import Harness
import Testing

@testable import DocumentStore

/// Aggregates are computed from index keys without reading documents.
@Suite("Sums from keys")
struct SumsFromKeysTests {
  private let directory = TemporaryDirectory()
  private let all: [Aggregate] = [.count, .sum("n"), .average("n")]

  private func open(_ fields: String...) throws -> DocumentStore {
    let store = try DocumentStore.open(directory.path)
    if !fields.isEmpty { try store.createIndex(index(fields)) }
    return store
  }

  private func index(
    _ fields: [String], _ direction: OrderBy.Direction = .ascending
  ) throws -> IndexDefinition {
    let fields = fields.map { IndexDefinition.Field(StoredFieldPath(unchecked: [$0]), .value(direction)) }
    return try IndexDefinition("c", .collection, fields, names: .ascending)
  }

  private func set(_ id: String, _ fields: (String, StoredValue)..., in store: DocumentStore) throws {
    try store.commit([.set(path("c", id), StoredMap(fields.map { (name: $0.0, value: $0.1) }))])
  }

  /// Returns the results if no document was read, and nil otherwise.
  private func fromKeys(_ query: StructuredQuery, _ store: DocumentStore) throws -> [StoredValue]? {
    let explanation = try store.explain(all, over: query)
    let results = try store.aggregate(all, over: query)
    #expect(try store.snapshot().aggregate(all, over: query) == results)
    var expected = Aggregation(all)
    for document in try store.documents(query) { expected.add(document) }
    #expect(results == expected.results)
    return explanation.documentsRead == 0 ? results : nil
  }

  @Test(
    "read no document, whatever the order of the index",
    arguments: [OrderBy.Direction.ascending, .descending])
  func sumsReadNoDocumentInEitherIndexDirection(direction: OrderBy.Direction) throws {
    let store = try open()
    try store.createIndex(index(["n"], direction))
    for number in 0..<50 { try set("\(number)", ("n", .integer(Int64(number))), in: store) }
    try set("text", ("n", "seven"), in: store)
    try set("without", ("other", 1), in: store)
    let ordered = try StructuredQuery.ofC.order("n", direction).order(.documentID)
    #expect(try fromKeys(ordered, store) == [51, 1225, 24.5])
    #expect(try fromKeys(try ordered.where("n", .greaterThan, 47), store) == [2, 97, 48.5])
    #expect(store.indexList.map(\.definition) == [try index(["n"], direction)])
    try store.close()
  }

  @Test("are of one group, where the index has the group and the number")
  func sumsOfAGroupComeFromAnIndexWithGroupAndNumber() throws {
    let store = try open("g", "n")
    for number in 0..<40 {
      let group = StoredValue.string(number % 2 == 0 ? "even" : "odd")
      try set("\(number)", ("g", group), ("n", .double(Double(number) + 0.5)), in: store)
    }
    #expect(try fromKeys(try StructuredQuery.ofC.where("g", .equal, "odd"), store) == [20, 410.0, 20.5])
    // This query returns the same documents in another order.
    let ordered = try StructuredQuery.ofC.where("g", .equal, "even").order("n", .descending)
    #expect(try fromKeys(ordered, store) == [20, 390.0, 19.5])
    // No index contains `m`, the second field of this order.
    let other = try StructuredQuery.ofC.where("g", .equal, "even").order("g").order("m")
    #expect(try fromKeys(other, store) == nil)
  }

  @Test("are exact beyond the precision of a double")
  func integerSumsAreExactBeyondDoublePrecision() throws {
    let store = try open("n")
    let numbers: [Int64] = [.max, .min, (1 << 53) + 1, -(1 << 53) - 1, (1 << 62) + 3, -7]
    for (place, number) in numbers.enumerated() { try set("\(place)", ("n", .integer(number)), in: store) }
    let found = try fromKeys(.ofC, store)
    #expect(found?[1] == .integer((1 << 62) + 3 - 7 - 1))
  }

  @Test("read documents where integers and doubles are mixed, as long as they are")
  func keysThatMixIntegersAndDoublesRequireDocuments() throws {
    let store = try open("n")
    try set("a", ("n", 5), in: store)
    try set("b", ("n", 7), in: store)
    #expect(try fromKeys(.ofC, store) == [2, 12, 6.0])
    // 5 and 5.0 have the same index key.
    try set("a", ("n", 5.0), in: store)
    #expect(try fromKeys(.ofC, store) == nil)
    #expect(try store.aggregate(all, over: .ofC) == [2, 12.0, 6.0])
    try set("b", ("n", 7.0), in: store)
    #expect(try fromKeys(.ofC, store) == [2, 12.0, 6.0])
    try set("a", ("n", "text"), in: store)
    try set("b", ("n", 1), in: store)
    #expect(try fromKeys(.ofC, store) == [2, 1, 1.0])
    try store.commit([.delete(path("c", "a")), .delete(path("c", "b"))])
    #expect(try fromKeys(.ofC, store) == [0, 0, .null])
    #expect(try store.invariantBroken() == nil)
  }

  @Test("know after a flush, a kill and an opening which numbers are integers")
  func integerCountsSurviveFlushKillAndReopening() throws {
    var store = try open("n")
    try set("a", ("n", 5), in: store)
    try set("b", ("n", 2.5), in: store)
    try store.compact()
    try set("b", ("n", 4), in: store)
    store.bytes.abandon()
    store = try open()
    #expect(try store.invariantBroken() == nil)
    #expect(try fromKeys(.ofC, store) == [2, 9, 4.5])
    try store.close()
  }

  @Test("keep to a limit, from either end")
  func sumsRespectALimitFromEitherEnd() throws {
    let store = try open("n")
    for number in 0..<10 { try set("\(number)", ("n", .integer(Int64(number))), in: store) }
    let ordered = try StructuredQuery.ofC.order("n")
    #expect(try fromKeys(try ordered.limited(to: .first(3)), store) == [3, 3, 1.0])
    #expect(try fromKeys(try ordered.limited(to: .last(3)), store) == [3, 24, 8.0])
    // No index on numbers is ordered by name.
    #expect(try fromKeys(try StructuredQuery.ofC.limited(to: .first(3)), store) == nil)
  }
}
