import ByteStore
import Harness
import Testing

@testable import DocumentStore

/// The plans of typical queries, as `explain` reports them.
@Suite("Plans of queries")
struct QueryPlanTests {
  private let directory = TemporaryDirectory()

  /// 300 documents in `c`.
  private func open(_ change: (inout DocumentStore.Options) -> Void = { _ in }) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    change(&options)
    let store = try DocumentStore.open(directory.path, options: options)
    var mutations: [Mutation] = []
    for number in 0..<300 as Range<Int64> {
      var fields = StoredMap()
      fields["a"] = .integer(number % 10)
      fields["b"] = .integer(number % 7)
      fields["n"] = .integer(number)
      fields["tags"] = .array([.integer(number % 3), .integer(5)])
      mutations.append(.set(path("c", "d\(number)"), fields))
    }
    try store.commit(mutations)
    return store
  }

  /// Checks the plan on the first run, and again with the indexes that exist then.
  private func expectPlan(
    _ store: DocumentStore, _ query: StructuredQuery, _ plan: String, then second: String? = nil,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    #expect(try store.explain(query).plan == plan, sourceLocation: location)
    if let second { #expect(try store.explain(query).plan == second, sourceLocation: location) }
  }

  @Test("without filters and orders are the names")
  func queryWithoutFiltersAndOrdersScansTheNames() throws {
    let store = try open()
    try expectPlan(store, .ofC, "through the names")
    try expectPlan(store, try .ofC.order(.documentID, .descending), "backward through the names")
    try expectPlan(store, .ofGroupC, "through the names")
    try expectPlan(
      store, try .ofC.where(.documentID, .greaterThan, "d2"), "through the names")
  }

  @Test("of an equality or an order are one index")
  func oneEqualityOrOrderUsesOneIndex() throws {
    let store = try open()
    try expectPlan(
      store, try .ofC.where("a", .equal, 3), "built the index c(a)\nthrough the index c(a)",
      then: "through the index c(a)")
    try expectPlan(store, try .ofC.where("a", .lessThan, 3), "through the index c(a)")
    try expectPlan(store, try .ofC.where("a", .notEqual, 3), "through 2 ranges of the index c(a)")
    try expectPlan(store, try .ofC.order("a").limited(to: .last(3)), "backward through the index c(a)")
    try expectPlan(
      store, try .ofC.where("tags", .arrayContains, 2).order("n", .descending),
      "built the index c(tags[], n)\nbackward through the index c(tags[], n)")
    try expectPlan(
      store, try .ofGroupC.where("a", .equal, 3), "built the index group c(a)\nthrough the index group c(a)")
  }

  @Test("of several equalities are what several indexes share, or one")
  func severalEqualitiesUseOneIndexOrJoinSeveral() throws {
    let store = try open()
    let query = try StructuredQuery.ofC.where("a", .equal, 3).where("b", .equal, 3)
    try expectPlan(store, query, "built the index c(a, b)\nthrough the index c(a, b)")
    store.dropIndex(try IndexDefinition("c", .collection, ["a", "b"].map { IndexDefinition.Field($0) }))
    for name in ["a", "b"] as [StoredFieldPath] {
      try store.createIndex(try IndexDefinition("c", .collection, [IndexDefinition.Field(name)]))
    }
    try expectPlan(store, query, "through the intersection of: the index c(a), the index c(b)")
  }

  @Test("of alternatives are merged, or sorted")
  func alternativesAreMergedOrSorted() throws {
    let store = try open()
    let either = try StructuredQuery.ofC.where("a", .isIn, [1, 2])
    try expectPlan(
      store, either, "built the index c(a)\nthrough the index c(a)\nthrough the index c(a)\nmerged in order")
    try expectPlan(
      store, try either.where(.documentID, .equal, "d1"),
      "a document by its name\na document by its name\nall of these\neach document is examined\n"
        + "and the matches are sorted")
  }

  @Test("of inequalities on two fields look at documents in the order of the first")
  func twoInequalitiesFilterAlongTheIndexOfTheFirst() throws {
    let store = try open()
    try expectPlan(
      store, try .ofC.where("a", .greaterThan, 3).where("n", .lessThan, 100),
      "built the index c(a, n)\nthrough the index c(a, n)\neach document is examined")
  }

  /// Parses fields; a minus sign means descending.
  private func declared(_ fields: [String]) throws -> IndexDefinition {
    let fields = fields.map { field in
      let name = field.hasPrefix("-") ? String(field.dropFirst()) : field
      return IndexDefinition.Field(
        StoredFieldPath(unchecked: [name]), .value(field == name ? .ascending : .descending))
    }
    return try IndexDefinition("c", .collection, fields)
  }

  /// Guards against an unused declaration. A query that orders by `n` descending also orders names
  /// descending, and `c(a, n desc)` must serve this query.
  @Test("are the indexes that were declared for them, in both directions")
  func declaredIndexServesItsQueryInBothDirections() throws {
    let store = try open()
    let all = try store.documents(.ofC)
    let (up, down) = (OrderBy.Direction.ascending, OrderBy.Direction.descending)
    let both = [(up, down), (down, up)]
    var wrong: [String] = []
    func checkServed(_ query: StructuredQuery, by definition: IndexDefinition) throws {
      let explanation = try store.explain(query)
      if explanation.built != [] || !explanation.plan.contains("the index \(definition)") {
        wrong.append("\(definition): \(explanation.plan)")
      }
      for query in [query, try query.limited(to: .first(5))] {
        let ids = try store.documents(query).map(\.path.id)
        if ids != query.ids(all) { wrong.append("\(definition): \(query.canonicalID) has \(ids)") }
      }
    }
    let last = try declared(["a", "-n"])
    try store.createIndex(last)
    for direction in [up, down] {
      try checkServed(try .ofC.where("a", .equal, 3).order("n", direction), by: last)
      try checkServed(
        try .ofC.where("a", .equal, 3).where("n", .greaterThan, 50).order("n", direction), by: last)
    }
    for (first, second) in both { try checkServed(try .ofC.order("a", first).order("n", second), by: last) }
    #expect(store.dropIndex(last))

    let mixed = try declared(["a", "-b", "n"])
    try store.createIndex(mixed)
    for (first, second) in both {
      try checkServed(try .ofC.where("a", .equal, 3).order("b", first).order("n", second), by: mixed)
      try checkServed(try .ofC.order("a", first).order("b", second).order("n", first), by: mixed)
    }
    #expect(store.dropIndex(mixed))

    let later = try declared(["a", "b", "-n"])
    try store.createIndex(later)
    for (first, second) in both {
      try checkServed(try .ofC.where("a", .equal, 3).order("b", first).order("n", second), by: later)
      let equal = try StructuredQuery.ofC.where("a", .equal, 3).where("b", .equal, 3)
      try checkServed(try equal.order("n", second), by: later)
    }
    #expect(wrong == [])
    #expect(store.indexList.map(\.definition) == [later])
    try store.close()
  }

  @Test("are described by the index that one would declare")
  func indexDescriptionEqualsItsDeclaration() throws {
    let declarations = [
      (["a", "-b"], "c(a, b desc)"), (["-a", "b"], "c(a, b desc)"), (["-a", "-b"], "c(a, b)"),
      (["-a"], "c(a)"), (["a", "-b", "-n"], "c(a, b desc, n desc)"),
    ]
    let definitions = try declarations.map { try declared($0.0) }
    #expect(definitions.map { "\($0)" } == declarations.map { $0.1 })
    // This query orders names in the opposite direction to `n`.
    let store = try open()
    try expectPlan(
      store, try .ofC.order("a").order("n", .descending).order(.documentID),
      "built the index c(a, n desc, __name__)\nthrough the index c(a, n desc, __name__)")
    try expectPlan(
      store, try .ofC.order("a").order("n", .descending),
      "built the index c(a, n desc)\nbackward through the index c(a, n desc)")
    #expect(
      try IndexDefinition(
        "c", .collection, [.init("a"), .init("n", .value(.descending))], names: .ascending)
        == store.indexList[0].definition)
    try store.close()
  }

  @Test("that nothing can match are nothing")
  func unsatisfiableQueryReadsNothing() throws {
    let store = try open()
    try expectPlan(store, try .ofC.where("a", .equal, 1).where("a", .equal, 2), "nothing can match")
    try expectPlan(store, try .ofC.where("a", .isIn, [.null]), "nothing can match")
  }

  @Test("without new indexes look at documents, and sort")
  func missingIndexesLeadToScanAndSort() throws {
    let store = try open { $0.createsIndexes = false }
    try expectPlan(
      store, try .ofC.where("a", .equal, 3).order("n"),
      "through the names\neach document is examined\nand the matches are sorted")
    try store.createIndex(try IndexDefinition("c", .collection, [IndexDefinition.Field("a")]))
    try expectPlan(
      store, try .ofC.where("a", .equal, 3).order("n"),
      "through the index c(a)\neach document is examined\nand the matches are sorted")
    try store.createIndex(try IndexDefinition("c", .collection, [IndexDefinition.Field("n")]))
    try expectPlan(
      store, try .ofC.where("a", .equal, 3).order("n").limited(to: .first(1)),
      "through the index c(n)\neach document is examined")
  }
}
