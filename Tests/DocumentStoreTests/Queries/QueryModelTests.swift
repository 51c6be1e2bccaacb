// Random queries, evaluated by the engine's rules and by a naive evaluator.

import DocumentStore
import Harness
import Testing

@Suite struct QueryModelTests {
  private static let worlds = 150
  private static let queriesPerWorld = 50

  @Test func resultsEqualTheNaiveEvaluator() {
    var (found, limited, cursored, empty) = (0, 0, 0, 0)
    for world in 0..<Self.worlds {
      let seed = SeededRandom.seed(17, UInt64(world))
      var generator = DocumentGenerator(seed: seed)
      let documents = generator.documents(1 + world % 50)
      var queries = QueryGenerator(seed: seed, about: documents)
      for _ in 0..<Self.queriesPerWorld {
        let query = queries.query()
        let answer = query.answer(from: documents)
        let expected = NaiveEvaluator(query).answer(from: documents)
        guard answer == expected else {
          Issue.record(
            """
            seed \(seed): \(query.canonicalID)
            answers \(answer.map(\.path)), expected \(expected.map(\.path))
            """)
          return
        }
        found += answer.count
        if answer.isEmpty { empty += 1 }
        if query.limit != nil, query.start == nil, !answer.isEmpty { limited += 1 }
        if query.start != nil || query.end != nil, !answer.isEmpty { cursored += 1 }
      }
    }
    // The comparison is only meaningful if queries find documents.
    let count = Self.worlds * Self.queriesPerWorld
    #expect(found > count && empty < count * 2 / 3 && limited > count / 20 && cursored > count / 20)
  }

  /// Filters without inequalities are added without completing the orders again.
  @Test func ordersFollowFromExplicitOrdersAndInequalitiesAlone() {
    var wrong: [String] = []
    var withInequalities = 0
    for world in 0..<200 {
      let seed = SeededRandom.seed(37, UInt64(world))
      var generator = DocumentGenerator(seed: seed)
      var queries = QueryGenerator(seed: seed, about: generator.documents(10))
      for _ in 0..<20 {
        let query = queries.query()
        let fields = Set(query.filters.flatMap(\.leaves).filter(\.operator.isInequality).map(\.field))
        var expected = query.explicitOrders
        let direction = expected.last?.direction ?? .ascending
        for field in fields.subtracting([.documentID]).sorted() + [.documentID] {
          if !expected.contains(where: { $0.field == field }) { expected.append(OrderBy(field, direction)) }
        }
        if !fields.isEmpty { withInequalities += 1 }
        if query.orders != expected { wrong.append("seed \(seed): \(query.canonicalID)") }
      }
    }
    #expect(wrong == [] && withInequalities > 500)
  }

  @Test func alternativesMatchLikeTheFilterTree() {
    var wrong: [String] = []
    for world in 0..<100 {
      let seed = SeededRandom.seed(23, UInt64(world))
      var generator = DocumentGenerator(seed: seed)
      let documents = generator.documents(40)
      var queries = QueryGenerator(seed: seed, about: documents)
      for _ in 0..<20 {
        let query = queries.query()
        let tree = FilterTree.all(query.filters)
        guard tree.alternativesCount <= 1000 else { continue }
        let alternatives = tree.alternatives
        if alternatives.count > tree.alternativesCount {
          wrong.append("seed \(seed): \(query.canonicalID) has \(alternatives.count) alternatives")
        }
        for document in documents {
          let matches = alternatives.contains { $0.allSatisfy { $0.matches(document) } }
          if matches != tree.matches(document) {
            wrong.append("seed \(seed): \(query.canonicalID), \(document.path)")
          }
        }
      }
    }
    #expect(wrong == [])
  }

  @Test func aggregatesEqualTheNaiveEvaluator() {
    var wrong: [String] = []
    for world in 0..<100 {
      let seed = SeededRandom.seed(29, UInt64(world))
      var generator = DocumentGenerator(seed: seed)
      let documents = generator.documents(1 + world % 50)
      var queries = QueryGenerator(seed: seed, about: documents)
      for _ in 0..<10 {
        let (query, aggregates) = (queries.query(), queries.aggregates())
        var aggregation = Aggregation(aggregates)
        for document in query.answer(from: documents).shuffled(using: &generator.random) {
          aggregation.add(document)
        }
        let expected = NaiveEvaluator(query).results(of: aggregates, over: documents)
        if aggregation.results != expected {
          wrong.append("seed \(seed): \(aggregates) of \(query.canonicalID) are \(aggregation.results)")
        }
      }
    }
    #expect(wrong == [])
  }

  @Test func theOrderOfAQueryIsTotal() {
    var wrong: [String] = []
    for world in 0..<100 {
      let seed = SeededRandom.seed(31, UInt64(world))
      var generator = DocumentGenerator(seed: seed)
      let documents = generator.documents(12)
      var queries = QueryGenerator(seed: seed, about: documents)
      let query = queries.query()
      for a in documents {
        for b in documents {
          let ab = query.compare(a, b)
          if query.compare(b, a) != ab.reversed || (ab == .same) != (a.path == b.path) {
            wrong.append("seed \(seed): \(a.path), \(b.path)")
          }
          for c in documents where query.compare(b, c) == ab && query.compare(a, c) != ab {
            wrong.append("seed \(seed): \(a.path), \(b.path), \(c.path)")
          }
        }
      }
    }
    #expect(wrong == [])
  }
}
