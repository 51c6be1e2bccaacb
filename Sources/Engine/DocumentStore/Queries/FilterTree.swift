// Filters joined by "and" and "or", and their disjunctive normal form.

/// A tree of conditions on a document.
public indirect enum FilterTree: Sendable, Equatable {
  /// A comparison of one field.
  case field(FieldFilter)
  /// All of these hold.
  case all([FilterTree])
  /// At least one of these holds.
  case any([FilterTree])

  /// Creates a comparison.
  public static func field(
    _ field: StoredFieldPath, _ operator: FieldFilter.Operator, _ operand: StoredValue
  ) -> FilterTree {
    .field(FieldFilter(field, `operator`, operand))
  }

  /// The tree without empty composites and without composites of one element. Nil if nothing is left.
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

  /// The comparisons from left to right.
  public var leaves: [FieldFilter] {
    switch self {
    case .field(let filter): [filter]
    case .all(let parts), .any(let parts): parts.flatMap(\.leaves)
    }
  }

  /// The operator if the tree is a comparison.
  var comparison: FieldFilter.Operator? { if case .field(let filter) = self { filter.operator } else { nil } }

  /// The operand if the tree is a comparison.
  var operand: StoredValue? { if case .field(let filter) = self { filter.operand } else { nil } }

  var hasInequality: Bool {
    switch self {
    case .field(let filter): filter.operator.isInequality
    case .all(let parts), .any(let parts): parts.contains(where: \.hasInequality)
    }
  }

  var hasAlternatives: Bool {
    switch self {
    case .field: false
    case .all(let parts): parts.contains(where: \.hasAlternatives)
    case .any: true
    }
  }

  /// Whether the document matches the tree, which must be simplified.
  package func matches(_ document: StoredDocument) -> Bool { matches(document.value) }

  /// `value` returns the document's value of a field.
  func matches(_ value: (StoredFieldPath) -> StoredValue?) -> Bool {
    switch self {
    case .field(let filter): filter.matches(value(filter.field))
    case .all(let parts): parts.allSatisfy { $0.matches(value) }
    case .any(let parts): parts.contains { $0.matches(value) }
    }
  }

  /// Replaces each comparison by the result of `body`.
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
  /// The comparisons if every part is a comparison without a list, as in most trees; otherwise nil.
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
  /// The number of alternatives, or `Int.max` if the number overflows. Each value in a list is one
  /// alternative, except for `notIn`. "and" multiplies the numbers of its parts, and "or" adds them.
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

  /// The disjunctive normal form: a list of alternatives, each a conjunction.
  ///
  ///     document matches tree  ⇔  document matches all conditions of at least one alternative
  ///
  /// `in` becomes one `==` per value and `arrayContainsAny` one `arrayContains` per value. A document can
  /// match several alternatives. Check `alternativesCount` first, because the number of alternatives can
  /// grow exponentially.
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
