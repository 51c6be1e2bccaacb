// Checks a complete query before it runs.

/// Limits on one query. The defaults are Firestore's.
public struct QueryLimits: Sendable {
  /// The maximum number of alternatives after expanding "or", `in` and `arrayContainsAny`.
  public var alternativesMax = 30
  /// The maximum number of values in `not in`.
  public var notInValuesMax = 10
  /// The maximum number of fields with inequalities.
  public var inequalityFieldsMax = 10
  /// The maximum total number of filters, explicit orders, and names in the path of the collection's parent.
  public var partsMax = 100
  /// The maximum number of aggregates in one request.
  public var aggregatesMax = 5

  /// Creates the limits of Firestore.
  public init() {}
}

extension StructuredQuery {
  /// Throws `invalidArgument` unless the query is valid and within the limits.
  public func check(_ limits: QueryLimits = QueryLimits()) throws(DocumentStoreError) {
    if case .last = limit, explicitOrders.isEmpty {
      throw .invalidArgument("limit(toLast:) queries require specifying at least one OrderBy() clause.")
    }
    if isWithin(limits) { return }
    let filter = FilterTree.all(filters)
    let leaves = filter.leaves
    let notIn = leaves.filter { $0.operator == .notIn }
    guard notIn.isEmpty || !filter.hasAlternatives else {
      throw .invalidArgument("A query cannot use 'notIn' together with 'or'.")
    }
    guard filter.arrayFiltersMax <= 1 else {
      throw .invalidArgument(
        "A query can use one 'arrayContains' or 'arrayContainsAny' filter in each of its alternatives.")
    }
    let inequalities = Set(leaves.filter(\.operator.isInequality).map(\.field))
    try require(filter.alternativesCount, limits.alternativesMax, what: "alternatives after 'or' and 'in'")
    try require(
      notIn.map { $0.list?.count ?? 0 }.max() ?? 0, limits.notInValuesMax, what: "values in 'notIn'")
    try require(inequalities.count, limits.inequalityFieldsMax, what: "fields with inequalities")
    try require(
      leaves.count + explicitOrders.count + scope.parentNamesCount, limits.partsMax,
      what: "filters, orders and names in the parent's path")
  }

  /// Decides without allocation that a query is within the limits. Returns false for queries that need a
  /// closer look.
  private func isWithin(_ limits: QueryLimits) -> Bool {
    var arrayFilters = 0
    for filter in filters {
      guard let comparison = filter.comparison, !comparison.takesList else { return false }
      if case .arrayContains = comparison { arrayFilters += 1 }
    }
    return arrayFilters <= 1 && limits.alternativesMax >= 1 && limits.notInValuesMax >= 0
      && filters.count <= limits.inequalityFieldsMax
      && filters.count + explicitOrders.count + scope.parentNamesCount <= limits.partsMax
  }

  private func require(_ found: Int, _ limit: Int, what: String) throws(DocumentStoreError) {
    guard found > limit else { return }
    throw .invalidArgument("The query has \(found) \(what), and the limit is \(limit).")
  }
}

extension FilterTree {
  /// The maximum number of `arrayContains` and `arrayContainsAny` filters in one alternative.
  fileprivate var arrayFiltersMax: Int {
    switch self {
    case .field(let filter): [.arrayContains, .arrayContainsAny].contains(filter.operator) ? 1 : 0
    case .all(let parts): parts.reduce(0) { $0 + $1.arrayFiltersMax }
    case .any(let parts): parts.map(\.arrayFiltersMax).max() ?? 0
    }
  }
}

extension StructuredQuery.Scope {
  fileprivate var parentNamesCount: Int {
    switch self {
    case .collection(let collection): collection.segments.count - 1
    case .collectionGroup: 0
    case .document(let document): document.segments.count
    }
  }
}
