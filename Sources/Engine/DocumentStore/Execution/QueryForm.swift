// The form of a query: the query without its values.
//
//   form := scope, (field operator)*, orders, number of values of each cursor
//
// The operands of filters, the values and sides of cursors, and the limit are values.

/// The form of a query whose filters are comparisons without lists. Two queries of one form have the same
/// plan for one set of indexes, except for the values in its ranges, if no estimate of keys takes part in the
/// choice. This type is a class, so that a comparison with a query copies nothing.
final class QueryForm: Sendable {
  private struct Comparison: Sendable {
    let field: StoredFieldPath
    let `operator`: FieldFilter.Operator
  }

  /// Forms with more filters and orders are not kept, so that the memory of a form is bounded.
  private static let partsMax = 16

  private let scope: StructuredQuery.Scope
  private let comparisons: [Comparison]
  private let orders: [OrderBy]
  private let startCount: Int?
  private let endCount: Int?

  /// Nil if the query has another kind of filter, or too many parts. The query must be in the form returned
  /// by `executableForm`.
  init?(_ run: StructuredQuery) {
    guard Self.digest(of: run) != nil else { return nil }
    scope = run.scope
    comparisons = run.filters.compactMap { filter in
      if case .field(let filter) = filter {
        Comparison(field: filter.field, operator: filter.operator)
      } else {
        nil
      }
    }
    orders = run.orders
    startCount = run.start?.values.count
    endCount = run.end?.values.count
  }

  /// Whether the query has this form.
  func matches(_ run: StructuredQuery) -> Bool {
    guard run.filters.count == comparisons.count, run.start?.values.count == startCount,
      run.end?.values.count == endCount, run.orders == orders, run.scope == scope
    else { return false }
    return comparisons.indices.allSatisfy { place in
      run.filters[place].comparison?.number == comparisons[place].operator.number
        && run.filters[place].compares(comparisons[place].field)
    }
  }

  /// A hash of some parts of the form, which takes a few instructions for each part. Queries of one form have
  /// equal digests. Nil if the query has no form.
  static func digest(of run: StructuredQuery) -> UInt64? {
    guard run.filters.count + run.orders.count <= partsMax else { return nil }
    var digest = FormDigest()
    switch run.scope {
    case .collection(let collection):
      digest.add(collection.segments.count)
      digest.add(collection.segments)
    case .collectionGroup(let id):
      digest.add(0)
      digest.add(id.utf8.count)
    case .document: return nil
    }
    for filter in run.filters {
      guard let comparison = filter.comparison, !comparison.hasAlternatives else { return nil }
      digest.add(comparison.number)
    }
    for order in run.orders {
      digest.add(order.field.names)
      digest.add(order.direction == .ascending ? 0 : 1)
    }
    digest.add(run.start?.values.count ?? -1)
    digest.add(run.end?.values.count ?? -1)
    return digest.value
  }
}

/// Mixes numbers into a hash.
private struct FormDigest {
  private(set) var value: UInt64 = 0

  mutating func add(_ number: Int) {
    value = (value ^ UInt64(truncatingIfNeeded: number)) &* 0x9E37_79B9_7F4A_7C15
    value ^= value >> 29
  }

  /// Adds the size of the last name.
  mutating func add(_ names: [String]) { add(names.last?.utf8.count ?? 0) }
}

extension FilterTree {
  /// Whether this is a comparison of the field.
  fileprivate func compares(_ field: StoredFieldPath) -> Bool {
    if case .field(let filter) = self { filter.field == field } else { false }
  }
}

extension FieldFilter.Operator {
  /// Whether each value in the operand is an alternative of its own.
  fileprivate var hasAlternatives: Bool {
    switch self {
    case .isIn, .arrayContainsAny: true
    default: false
    }
  }

  /// Distinguishes the operators. A comparison of operators would compare their names.
  fileprivate var number: Int {
    switch self {
    case .lessThan: 0
    case .lessThanOrEqual: 1
    case .equal: 2
    case .notEqual: 3
    case .greaterThanOrEqual: 4
    case .greaterThan: 5
    case .arrayContains: 6
    case .arrayContainsAny: 7
    case .isIn: 8
    case .notIn: 9
    }
  }
}
