import Harness
import Testing

@testable import DocumentStore

/// Plans from templates equal those of the planner.
@Suite struct PlanCacheTests {
  private static let worlds = 60
  private static let formsPerWorld = 40
  private static let queriesPerForm = 6

  /// The parts of a plan, for comparisons.
  private struct Parts: Equatable {
    let query: StructuredQuery
    let isBackward: Bool
    let branches: [QueryPlan.Branch]
    let isOrdered: Bool
    let isExact: Bool

    init(_ plan: QueryPlan) {
      query = plan.query
      isBackward = plan.isBackward
      branches = plan.branches
      isOrdered = plan.isOrdered
      isExact = plan.isExact
    }
  }

  private static func view(_ definitions: [IndexDefinition]) -> IndexView {
    IndexView(
      names: OrderedIndex(), nestedNames: [:], longNames: 0,
      indexes: definitions.map { ManagedIndex(id: 1, definition: $0, isAutomatic: true) })
  }

  /// Decides without templates. `count` is the estimate for every access.
  private static func decision(
    _ query: StructuredQuery, _ view: IndexView, count: Int, createsIndexes: Bool
  ) throws -> QueryPlanner.Decision {
    let definitions = view.indexes.map(\.definition)
    return try QueryPlanner(
      definitions: definitions, createsIndexes: createsIndexes, scanMax: 10, count: { _ in count }
    ).decide(query)
  }

  /// Random queries and random indexes, which change while the templates are in use. Each plan from a
  /// template must be the plan that the planner chooses, whatever the estimates are.
  @Test func plansFromTemplatesEqualThePlannersDecisions() throws {
    var wrong: [String] = []
    var (found, backward, inexact, empty, severalRanges, ofNames) = (0, 0, 0, 0, 0, 0)
    for world in 0..<Self.worlds {
      let seed = SeededRandom.seed(31, UInt64(world))
      var generator = DocumentGenerator(seed: seed)
      let documents = generator.documents(20)
      var queries = QueryGenerator(seed: seed, about: documents)
      let cache = PlanCache()
      var definitions: [String: [IndexDefinition]] = [:]
      var views: [String: IndexView] = [:]
      for _ in 0..<Self.formsPerWorld {
        let model = generator.random.oneIn(2) ? queries.query() : queries.selectiveQuery()
        let id = model.scope.collectionID
        if case .needs(let needed) = try Self.decision(
          model, Self.view(definitions[id] ?? []), count: 1 << 20, createsIndexes: true),
          !generator.random.oneIn(4)
        {
          definitions[id, default: []] += needed.filter { definitions[id]?.contains($0) != true }
          views[id] = nil
        } else if generator.random.oneIn(8), var known = definitions[id], !known.isEmpty {
          known.remove(at: generator.random.below(known.count))
          definitions[id] = known.shuffled(using: &generator.random)
          views[id] = nil
        }
        let view = views[id] ?? Self.view(definitions[id] ?? [])
        views[id] = view
        for _ in 0..<Self.queriesPerForm {
          let query = model.withOtherValues(of: documents, using: &generator.random).executableForm
          let cached = cache.plan(for: query, view)
          for (count, createsIndexes) in [(0, true), (500, false), (1 << 20, true), (1 << 20, false)] {
            let decision = try Self.decision(query, view, count: count, createsIndexes: createsIndexes)
            if let cached {
              guard case .plan(let plan, _) = decision, Parts(plan) == Parts(cached) else {
                wrong.append("seed \(seed): \(query.canonicalID)")
                continue
              }
            } else if case .plan(_, let template?) = decision {
              cache.add(template, for: query, view: view)
            }
          }
          guard let cached else { continue }
          found += 1
          if cached.isBackward { backward += 1 }
          if !cached.isExact { inexact += 1 }
          if cached.branches.isEmpty { empty += 1 }
          if let access = cached.onlyAccess {
            if access.ranges.count > 1 { severalRanges += 1 }
            if access.source == .names { ofNames += 1 }
          }
        }
      }
    }
    #expect(wrong == [])
    // The comparison is only meaningful if templates are found for queries of every kind.
    #expect(found > Self.worlds * Self.formsPerWorld)
    #expect(min(backward, inexact, empty, severalRanges, ofNames) > 20)
  }

  @Test func templateIsNotUsedWithOtherIndexes() throws {
    let cache = PlanCache()
    let query = try StructuredQuery.ofC.where("a", .equal, 3)
    let index = try IndexDefinition("c", .collection, [IndexDefinition.Field("a")])
    let other = try IndexDefinition("c", .collection, [IndexDefinition.Field("b")])
    let view = Self.view([index])
    guard case .plan(_, let template?) = try Self.decision(query, view, count: 0, createsIndexes: true) else {
      Issue.record("a plan of one index has a template")
      return
    }
    cache.add(template, for: query, view: view)
    #expect(cache.plan(for: query, view) != nil)
    #expect(cache.plan(for: try .ofC.where("a", .equal, "text").limited(to: .first(1)), view) != nil)
    #expect(cache.plan(for: try .ofC.where("a", .lessThan, 3), view) == nil)
    #expect(cache.plan(for: try .ofC.where("b", .equal, 3), view) == nil)
    #expect(cache.plan(for: try .ofGroupC.where("a", .equal, 3), view) == nil)
    // An index with an equal definition is another index.
    for indexes in [[], [other], [index, other], [index]] {
      #expect(cache.plan(for: query, Self.view(indexes)) == nil)
    }
    var changed = view.indexes
    changed[0].longKeys = 1
    #expect(cache.plan(for: query, view.with(changed)) != nil)
  }

  @Test func plansThatDependOnValuesOrEstimatesHaveNoTemplate() throws {
    let fields = ["a", "b"].map { IndexDefinition.Field($0) }
    let view = Self.view(try fields.map { try IndexDefinition("c", .collection, [$0]) })
    let queries: [StructuredQuery] = [
      // The intersection of two indexes, if one access is small.
      try .ofC.where("a", .equal, 1).where("b", .equal, 2),
      // Equal values, or nothing.
      try .ofC.where("a", .equal, 1).where("a", .equal, 2),
      try .ofC.where("a", .isIn, [1, 2]), try .ofC.where(.documentID, .equal, "x"),
      StructuredQuery(.document(path("c", "x"))),
    ]
    for query in queries {
      guard case .plan(_, nil) = try Self.decision(query, view, count: 0, createsIndexes: true) else {
        Issue.record("\(query.canonicalID) has a template")
        continue
      }
    }
  }

  @Test func numberOfTemplatesIsBounded() throws {
    let cache = PlanCache()
    for number in 0..<3 * PlanCache.templatesMax {
      let field = StoredFieldPath(unchecked: ["f\(number)"])
      let view = Self.view([try IndexDefinition("c", .collection, [IndexDefinition.Field(field)])])
      let query = try StructuredQuery.ofC.order(field)
      guard case .plan(_, let template?) = try Self.decision(query, view, count: 0, createsIndexes: true)
      else {
        Issue.record("a plan of one index has a template")
        return
      }
      cache.add(template, for: query, view: view)
      cache.add(template, for: query, view: view)
      #expect(cache.plan(for: query, view) != nil)
      #expect(cache.count == min(number + 1, PlanCache.templatesMax))
    }
  }
}

extension StructuredQuery {
  /// A query of the same form. Operands and cursor values are replaced by values of the documents, and the
  /// sides of the cursors and the limit are changed.
  fileprivate func withOtherValues(
    of documents: [StoredDocument], using random: inout SeededRandom
  ) -> StructuredQuery {
    func value(_ field: StoredFieldPath, _ old: StoredValue, _ random: inout SeededRandom) -> StoredValue {
      guard !random.oneIn(3) else { return old }
      let document = documents[random.below(documents.count)]
      if field == .documentID { return .documentName(document.path) }
      return document.value(of: field) ?? (random.oneIn(2) ? .null : old)
    }
    func cursor(_ old: Cursor, _ random: inout SeededRandom) -> Cursor {
      var values: [StoredValue] = []
      for (order, old) in zip(orders, old.values) { values.append(value(order.field, old, &random)) }
      return Cursor(random.oneIn(2) ? .before : .after, values)
    }
    var query = self
    query.filters = filters.map { filter in
      guard case .field(let filter) = filter, !filter.operator.takesList else { return filter }
      return .field(filter.field, filter.operator, value(filter.field, filter.operand, &random))
    }
    query.start = start.map { cursor($0, &random) }
    query.end = end.map { cursor($0, &random) }
    if random.oneIn(2), case .first? = limit { query.limit = .first(1 + random.below(9)) }
    return query
  }
}
