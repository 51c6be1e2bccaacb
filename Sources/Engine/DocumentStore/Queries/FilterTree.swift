// Conditions joined by "and" and "or", and the same as alternatives.

/// What a document must satisfy.
public indirect enum FilterTree: Sendable, Equatable {
  /// One comparison.
  case field(FieldFilter)
  /// All of these hold.
  case all([FilterTree])
  /// At least one of these holds.
  case any([FilterTree])

  /// One comparison.
  public static func field(
    _ field: StoredFieldPath, _ operator: FieldFilter.Operator, _ operand: StoredValue
  ) -> FilterTree {
    .field(FieldFilter(field, `operator`, operand))
  }

  /// Without composites of one, which are that one, and empty ones, which say nothing. Nil if nothing is
  /// left.
  public var simplified: FilterTree? {
    switch self {
    case .field: self
    case .all(let parts): Self.simplified(parts, joinedBy: FilterTree.all)
    case .any(let parts): Self.simplified(parts, joinedBy: FilterTree.any)
    }
  }

  private static func simplified(
    _ parts: [FilterTree], joinedBy join: ([FilterTree]) -> FilterTree
  ) -> FilterTree? {
    let parts = parts.compactMap(\.simplified)
    return parts.count > 1 ? join(parts) : parts.first
  }

  /// The conditions, from left to right.
  public var leaves: [FieldFilter] {
    switch self {
    case .field(let filter): [filter]
    case .all(let parts), .any(let parts): parts.flatMap(\.leaves)
    }
  }

  var hasAlternatives: Bool {
    switch self {
    case .field: false
    case .all(let parts): parts.contains(where: \.hasAlternatives)
    case .any: true
    }
  }

  /// Of a simplified tree.
  package func matches(_ document: StoredDocument) -> Bool { matches(document.value) }

  /// The same for a document of which `value` gives what it has in a field.
  func matches(_ value: (StoredFieldPath) -> StoredValue?) -> Bool {
    switch self {
    case .field(let filter): filter.matches(value(filter.field))
    case .all(let parts): parts.allSatisfy { $0.matches(value) }
    case .any(let parts): parts.contains { $0.matches(value) }
    }
  }

  /// The same conditions, each replaced by what `body` makes of it.
  func mapLeaves(
    _ body: (FieldFilter) throws(DocumentStoreError) -> FieldFilter
  ) throws(DocumentStoreError) -> FilterTree {
    switch self {
    case .field(let filter): .field(try body(filter))
    case .all(let parts): .all(try parts.mapLeaves(body))
    case .any(let parts): .any(try parts.mapLeaves(body))
    }
  }
}

extension [FilterTree] {
  /// Nil if there is more than plain conditions, as in few trees: then there may be alternatives.
  fileprivate var conditions: [FieldFilter]? {
    var conditions: [FieldFilter] = []
    for part in self {
      guard case .field(let filter) = part, filter.list == nil else { return nil }
      conditions.append(filter)
    }
    return conditions
  }

  fileprivate func mapLeaves(
    _ body: (FieldFilter) throws(DocumentStoreError) -> FieldFilter
  ) throws(DocumentStoreError) -> [FilterTree] {
    var mapped: [FilterTree] = []
    for part in self { mapped.append(try part.mapLeaves(body)) }
    return mapped
  }
}

// MARK: Alternatives

extension FilterTree {
  /// The number of alternatives, or `Int.max` if it is greater still: each value of a list is one, "and"
  /// multiplies, "or" adds.
  package var alternativesCount: Int {
    switch self {
    case .field(let filter):
      filter.operator == .notIn ? 1 : filter.list?.count ?? 1
    case .all(let parts):
      parts.reduce(1) { product, part in
        let (count, overflow) = product.multipliedReportingOverflow(by: part.alternativesCount)
        return overflow ? .max : count
      }
    case .any(let parts):
      parts.reduce(0) { sum, part in
        let (count, overflow) = sum.addingReportingOverflow(part.alternativesCount)
        return overflow ? .max : count
      }
    }
  }

  /// The tree as alternatives, each of them conditions that hold together (the disjunctive normal form):
  ///
  ///     document matches tree  ⇔  document matches all conditions of at least one alternative
  ///
  /// `in` becomes one `==` per value and `arrayContainsAny` one `arrayContains`. A document may match
  /// several alternatives. Look at `alternativesCount` first: they multiply.
  package var alternatives: [[FieldFilter]] {
    switch self {
    case .field(let filter):
      switch filter.operator {
      case .isIn: filter.candidates.map { [FieldFilter(filter.field, .equal, $0)] }
      case .arrayContainsAny: filter.candidates.map { [FieldFilter(filter.field, .arrayContains, $0)] }
      default: [[filter]]
      }
    case .all(let parts):
      parts.conditions.map { [$0] }
        ?? parts.reduce([[]]) { joined, part in
          let alternatives = part.alternatives
          return joined.flatMap { left in alternatives.map { left + $0 } }
        }
    case .any(let parts):
      parts.flatMap(\.alternatives)
    }
  }
}
