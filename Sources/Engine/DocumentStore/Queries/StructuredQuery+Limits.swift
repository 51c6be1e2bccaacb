// What a finished query is checked for before it runs.

/// How much one query may ask for. The defaults are Firestore's.
public struct QueryLimits: Sendable {
  /// Alternatives after "or", `in` and `arrayContainsAny` are multiplied out.
  public var alternativesMax = 30
  /// How many values `not in` takes.
  public var notInValuesMax = 10
  /// How many fields may be compared by other than equality.
  public var inequalityFieldsMax = 10
  /// Filters, explicit orders and names in the path of the collection's parent, together.
  public var partsMax = 100
  /// How many aggregates one request may have.
  public var aggregatesMax = 5

  /// Those of Firestore.
  public init() {}
}

extension StructuredQuery {
  /// Throws unless the query can run within the limits.
  public func check(_ limits: QueryLimits = QueryLimits()) throws(DocumentStoreError) {
    if case .last = limit, explicitOrders.isEmpty {
      throw .invalidArgument("limit(toLast:) queries require specifying at least one OrderBy() clause.")
    }
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
    try require(filter.alternativesCount, limits.alternativesMax, "alternatives after 'or' and 'in'")
    try require(notIn.map { $0.list?.count ?? 0 }.max() ?? 0, limits.notInValuesMax, "values in 'notIn'")
    try require(inequalities.count, limits.inequalityFieldsMax, "fields with inequalities")
    try require(
      leaves.count + explicitOrders.count + scope.parentNamesCount, limits.partsMax,
      "filters, orders and names in the parent's path")
  }

  private func require(_ found: Int, _ limit: Int, _ what: String) throws(DocumentStoreError) {
    guard found > limit else { return }
    throw .invalidArgument("The query has \(found) \(what), and the limit is \(limit).")
  }
}

extension FilterTree {
  /// The most `arrayContains` and `arrayContainsAny` filters that come together in one alternative.
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
