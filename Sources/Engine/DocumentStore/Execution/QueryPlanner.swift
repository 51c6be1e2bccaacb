// From a query and the indexes that there are to a plan.
//
//   1. orient     so that the document's name ascends; an index serves both directions
//   2. split      the filters into alternatives, each a conjunction (FilterTree)
//   3. for each   what is equal goes to the front of the key, the orders follow, and what is between bounds
//                 on the first of them is a list of ranges
//   4. choose     the index that has these keys; several whose keys have a part of the equalities each, and
//                 the same orders; or the names alone
//
// What no key decides is checked on the documents. The same is found for cursors: they are bounds on keys.

struct QueryPlanner {
  /// Several indexes are joined rather than one made, if the smallest gives no more keys than this.
  static let joinMax = 1000

  /// The indexes of the collection's id.
  var definitions: [IndexDefinition]
  /// May answer that an index is needed first.
  var createsIndexes: Bool
  /// So many documents are looked through rather than indexed.
  var scanMax: Int
  /// How many keys are in a part of an index, at least roughly.
  var count: (QueryPlan.Access) throws(DocumentStoreError) -> Int

  enum Decision {
    case plan(QueryPlan)
    /// With these it can be answered without looking at documents that do not match.
    case needs([IndexDefinition])
  }

  func decide(_ query: StructuredQuery) throws(DocumentStoreError) -> Decision {
    let run = query.asRun
    let oriented = OrientedQuery(run)
    if case .document(let path) = run.scope {
      var plan = gathering([.document(path)], oriented)
      // Whether it is there, its name tells.
      plan.isExact =
        run.filters.isEmpty && run.start == nil && run.end == nil
        && run.orders.allSatisfy { $0.field == .documentID }
      return .plan(plan)
    }
    let filter = FilterTree.all(run.filters)
    guard filter.alternativesCount <= QueryLimits().partsMax else {
      return .plan(gathering([.keys([oriented.names])], oriented))
    }
    var conjunctions = filter.alternatives.compactMap { Conjunction($0, oriented) }
    let unsettled = conjunctions.count > 1 ? conjunctions : []
    for index in conjunctions.indices { conjunctions[index].settle(with: unsettled) }
    guard !conjunctions.isEmpty else { return .plan(nothing(oriented)) }
    if conjunctions.contains(where: { $0.name != nil }) {
      return .plan(gathering(try conjunctions.map(branchInAnyOrder), oriented))
    }
    return try decide(oriented, conjunctions)
  }

  private func decide(
    _ query: OrientedQuery, _ conjunctions: [Conjunction]
  ) throws(DocumentStoreError) -> Decision {
    var branches: [QueryPlan.Branch] = []
    var needed: [IndexDefinition] = []
    var isExact = true
    for conjunction in conjunctions {
      if let branch = try exactBranch(conjunction) {
        branches.append(branch)
        isExact = isExact && conjunction.isDecidedByKeys
      } else {
        let ideal = conjunction.ideal
        if !needed.contains(ideal) { needed.append(ideal) }
      }
    }
    if needed.isEmpty {
      return .plan(
        QueryPlan(
          query: query.run, isBackward: query.isBackward, branches: branches.filter { !$0.isEmpty },
          isOrdered: true, isExact: isExact))
    }
    if createsIndexes, try count(query.names) > scanMax { return .needs(needed) }
    return .plan(try withoutNewIndexes(query, conjunctions))
  }

  private func nothing(_ query: OrientedQuery) -> QueryPlan {
    QueryPlan(
      query: query.run, isBackward: query.isBackward, branches: [], isOrdered: true, isExact: true)
  }

  private func gathering(_ branches: [QueryPlan.Branch], _ query: OrientedQuery) -> QueryPlan {
    QueryPlan(
      query: query.run, isBackward: query.isBackward, branches: branches, isOrdered: false, isExact: false)
  }

  // MARK: One conjunction

  /// All of its documents in the order of the query and, as far as keys can tell, no others; nil if there
  /// are no such indexes.
  private func exactBranch(
    _ conjunction: Conjunction
  ) throws(DocumentStoreError) -> QueryPlan.Branch? {
    if conjunction.fronts.isEmpty, conjunction.orders.isEmpty { return .keys([conjunction.names]) }
    if let whole = definitions.first(where: { conjunction.isServed(by: $0, whole: true) }) {
      return .keys([conjunction.access(whole)])
    }
    return try join(conjunction)
  }

  /// Indexes with the orders of the query, which together have all of its equalities.
  private func join(_ conjunction: Conjunction) throws(DocumentStoreError) -> QueryPlan.Branch? {
    guard conjunction.fronts.count > 1 else { return nil }
    var open = Set(conjunction.fronts.map(\.field))
    var accesses: [QueryPlan.Access] = []
    let candidates = definitions.filter { conjunction.isServed(by: $0, whole: false) }
      .sorted { ($1.fields.count, $0.description) < ($0.fields.count, $1.description) }
    for definition in candidates {
      let fronts = definition.fields.dropLast(conjunction.orders.count).map(\.asFront)
      guard fronts.contains(where: { open.contains($0) }) else { continue }
      open.subtract(fronts)
      accesses.append(conjunction.access(definition))
    }
    guard open.isEmpty else { return nil }
    guard createsIndexes else { return .keys(accesses) }
    for access in accesses where try count(access) <= Self.joinMax { return .keys(accesses) }
    return nil
  }

  /// Its documents and perhaps others, in any order.
  private func branchInAnyOrder(
    _ conjunction: Conjunction
  ) throws(DocumentStoreError) -> QueryPlan.Branch {
    if let name = conjunction.name { return .document(name) }
    var best = conjunction.names
    var least = try count(best)
    for definition in definitions {
      guard let access = conjunction.partialAccess(definition) else { continue }
      let keys = try count(access)
      if keys < least { (best, least) = (access, keys) }
    }
    return .keys([best])
  }

  private func withoutNewIndexes(
    _ query: OrientedQuery, _ conjunctions: [Conjunction]
  ) throws(DocumentStoreError) -> QueryPlan {
    var branches: [QueryPlan.Branch] = []
    var keys = 0
    for conjunction in conjunctions {
      let branch = try branchInAnyOrder(conjunction)
      for access in branch.accesses { keys += try count(access) }
      branches.append(branch)
    }
    guard conjunctions.count == 1, let ordered = try orderedAccess(conjunctions[0]),
      // A limit may end it early.
      ordered.keys <= keys || query.run.limit != nil
    else { return gathering(branches, query) }
    return QueryPlan(
      query: query.run, isBackward: query.isBackward, branches: [.keys([ordered.access])],
      isOrdered: true, isExact: false)
  }

  /// Of the keys that have the orders of a conjunction and some of its equalities the fewest.
  private func orderedAccess(
    _ conjunction: Conjunction
  ) throws(DocumentStoreError) -> (access: QueryPlan.Access, keys: Int)? {
    var accesses = definitions.filter { conjunction.isServed(by: $0, whole: false) }
      .map(conjunction.access)
    if conjunction.orders.isEmpty { accesses.append(conjunction.names) }
    var best: (access: QueryPlan.Access, keys: Int)?
    for access in accesses {
      let keys = try count(access)
      if best.map({ keys < $0.keys }) ?? true { best = (access, keys) }
    }
    return best
  }
}

extension QueryPlan.Branch {
  fileprivate var isEmpty: Bool { accesses.contains { $0.ranges.isEmpty } }
}
