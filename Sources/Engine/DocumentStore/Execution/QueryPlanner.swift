// The query planner: chooses a plan, given a query and the existing indexes.
//
//   1. orient the query so that document names ascend. An index serves both directions.
//   2. split the filters into alternatives, each a conjunction (FilterTree).
//   3. map each conjunction to a key: equality fields first, then the orders. Inequalities on the first order
//      become a list of ranges.
//   4. choose the index with this key, or the intersection of several indexes that have the same orders and
//      each cover some of the equalities, or the document names.
//
// Conditions that the keys cannot decide are checked on the documents. Cursors become bounds on keys.
//
// If the query's form decides steps 2 to 4, the plan has a template, and PlanCache reuses it.

struct QueryPlanner {
  /// Several existing indexes are intersected, instead of building a new index, if the smallest access to
  /// them has at most this many keys.
  static let joinMax = 1000

  /// The existing indexes for the query's collection id.
  var definitions: [IndexDefinition]
  /// If true, the planner may decide that an index must be built first.
  var createsIndexes: Bool
  /// Up to this number of documents, scanning is preferred to building an index.
  var scanMax: Int
  /// Estimates the number of keys in an access.
  var count: (QueryPlan.Access) throws(DocumentStoreError) -> Int

  enum Decision {
    /// A plan, and its template if later queries of the same form can use the plan.
    case plan(QueryPlan, PlanTemplate? = nil)
    /// The query needs new indexes. With these indexes, it would read only matching documents.
    case needs([IndexDefinition])
  }

  func decide(_ query: StructuredQuery) throws(DocumentStoreError) -> Decision {
    let run = query.executableForm
    let oriented = OrientedQuery(run)
    if case .document(let path) = run.scope {
      // The name index shows whether the document exists. Without filters, cursors and orders by fields,
      // nothing else has to be checked.
      let isExact =
        run.filters.isEmpty && run.start == nil && run.end == nil
        && run.orders.allSatisfy { $0.field == .documentID }
      return .plan(QueryPlan(oriented, [.document(path)], isOrdered: false, isExact: isExact))
    }
    let filter = FilterTree.all(run.filters)
    guard filter.alternativesCount <= QueryLimits().partsMax else {
      return .plan(gatheredPlan([.keys([oriented.names])], oriented))
    }
    var conjunctions = filter.alternatives.compactMap { Conjunction($0, oriented) }
    let mergedConjunctions = conjunctions.count > 1 ? conjunctions : []
    for index in conjunctions.indices { conjunctions[index].chooseOrders(with: mergedConjunctions) }
    guard !conjunctions.isEmpty else { return .plan(emptyPlan(oriented)) }
    if conjunctions.contains(where: { $0.name != nil }) {
      return .plan(gatheredPlan(try conjunctions.map(unorderedBranch), oriented))
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
        let idealIndex = conjunction.idealIndex
        if !needed.contains(idealIndex) { needed.append(idealIndex) }
      }
    }
    if needed.isEmpty {
      let plan = QueryPlan(query, branches.filter { !$0.isEmpty }, isOrdered: true, isExact: isExact)
      return .plan(plan, conjunctions.count == 1 ? PlanTemplate(conjunctions[0], branches[0]) : nil)
    }
    if createsIndexes, try count(query.names) > scanMax { return .needs(needed) }
    return .plan(try planWithExistingIndexes(query, conjunctions))
  }

  private func emptyPlan(_ query: OrientedQuery) -> QueryPlan {
    QueryPlan(query, [], isOrdered: true, isExact: true)
  }

  private func gatheredPlan(_ branches: [QueryPlan.Branch], _ query: OrientedQuery) -> QueryPlan {
    QueryPlan(query, branches, isOrdered: false, isExact: false)
  }

  // MARK: One conjunction

  /// Returns a branch with the conjunction's documents in query order. The branch has no other documents, as
  /// far as keys can decide. Returns nil if the indexes for the branch are missing.
  private func exactBranch(
    _ conjunction: Conjunction
  ) throws(DocumentStoreError) -> QueryPlan.Branch? {
    if conjunction.equalityFields.isEmpty, conjunction.orders.isEmpty { return .keys([conjunction.names]) }
    if let whole = definitions.first(where: { conjunction.isServed(by: $0, whole: true) }) {
      return .keys([conjunction.access(whole)])
    }
    return try join(conjunction)
  }

  /// Intersects several indexes. Each of them has the query's orders, and together they cover all equalities.
  private func join(_ conjunction: Conjunction) throws(DocumentStoreError) -> QueryPlan.Branch? {
    guard conjunction.equalityFields.count > 1 else { return nil }
    var open = Set(conjunction.equalityFields.map(\.field))
    var accesses: [QueryPlan.Access] = []
    let candidates = definitions.filter { conjunction.isServed(by: $0, whole: false) }
      .sorted { ($1.fields.count, $0.description) < ($0.fields.count, $1.description) }
    for definition in candidates {
      let equalityFields = definition.fields.dropLast(conjunction.orders.count).map(\.asEquality)
      guard equalityFields.contains(where: { open.contains($0) }) else { continue }
      open.subtract(equalityFields)
      accesses.append(conjunction.access(definition))
    }
    guard open.isEmpty else { return nil }
    guard createsIndexes else { return .keys(accesses) }
    for access in accesses where try count(access) <= Self.joinMax { return .keys(accesses) }
    return nil
  }

  /// Returns a branch with a superset of the conjunction's documents, in any order.
  private func unorderedBranch(
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

  private func planWithExistingIndexes(
    _ query: OrientedQuery, _ conjunctions: [Conjunction]
  ) throws(DocumentStoreError) -> QueryPlan {
    var branches: [QueryPlan.Branch] = []
    var keys = 0
    for conjunction in conjunctions {
      let branch = try unorderedBranch(conjunction)
      for access in branch.accesses { keys += try count(access) }
      branches.append(branch)
    }
    guard conjunctions.count == 1, let ordered = try orderedAccess(conjunctions[0]),
      // If there is a limit, it may end the ordered scan early.
      ordered.keys <= keys || query.run.limit != nil
    else { return gatheredPlan(branches, query) }
    return QueryPlan(query, [.keys([ordered.access])], isOrdered: true, isExact: false)
  }

  /// Returns the access with the fewest keys, among the accesses that have the conjunction's orders and some
  /// of its equalities.
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
