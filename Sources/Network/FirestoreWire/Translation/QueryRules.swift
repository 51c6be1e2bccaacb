// Firestore's rules for the filters and orders of a query, with the sentences in which a server refuses a
// query that breaks one.

import DocumentStore
import OfflineSync

enum QueryRules {
  private static let limits = QueryLimits()
  private static let listMax = 30

  // MARK: Single filters

  /// Checks the list of an operator that takes one. `name` is the operator's name on the wire.
  static func check(list operand: StoredValue, _ operator: FieldFilter.Operator, name: String)
    throws(RemoteError)
  {
    guard `operator`.takesList else { return }
    guard case .array(let values) = operand else { throw .invalid("'\(name)' requires an ArrayValue.") }
    guard !values.isEmpty else { throw .invalid("'\(name)' requires an non-empty ArrayValue.") }
    let valuesMax = `operator` == .notIn ? limits.notInValuesMax : listMax
    guard values.count <= valuesMax else {
      throw .invalid("'\(name)' supports up to \(valuesMax) comparison values.")
    }
  }

  // MARK: All filters

  static func check(_ filter: FilterTree) throws(RemoteError) {
    let operators = filter.leaves.map(\.operator)
    guard operators.count(where: { $0 == .notEqual || $0 == .notIn }) <= 1 else {
      throw .invalid(
        "Only a single 'NOT_EQUAL', 'NOT_IN', 'IS_NOT_NAN', or 'IS_NOT_NULL' filter allowed per query.")
    }
    if operators.contains(.notIn) {
      guard !operators.contains(.isIn), !operators.contains(.arrayContainsAny), !hasAlternatives(filter)
      else {
        throw .invalid(
          "'NOT_IN' cannot be used in the same query with 'IN', 'ARRAY_CONTAINS_ANY' or 'OR'.")
      }
    }
    guard arrayFiltersMax(filter) <= 1 else {
      throw .invalid("A maximum of 1 'ARRAY_CONTAINS' filter is allowed per disjunction.")
    }
    let alternatives = filter.alternativesCount
    guard alternatives <= limits.alternativesMax else {
      throw .invalid(
        "Too many disjunctions after normalization. Result had \(alternatives) disjunctions which is more than "
          + "the maximum of \(limits.alternativesMax)")
    }
    let fields = Set(filter.leaves.filter(\.operator.isInequality).map(\.field))
    guard fields.count <= limits.inequalityFieldsMax else {
      throw .invalid(
        "The query contains \(fields.count) distinct inequality fields. A query may not have more than "
          + "\(limits.inequalityFieldsMax) distinct inequality fields.")
    }
  }

  /// Checks the total number of parts, before anything is computed from them.
  static func check(
    _ scope: StructuredQuery.Scope, filters: Int, orders: Int
  ) throws(RemoteError) {
    var ancestors = 0
    if case .collection(let path) = scope { ancestors = path.segments.count - 1 }
    guard filters + orders + ancestors > limits.partsMax else { return }
    throw .invalid(
      "The query may not have more than \(limits.partsMax) filters + sort orders + ancestor total. Currently "
        + "there are \(filters) filters, \(orders) sort orders, and "
        + (ancestors == 0 ? "no ancestor filter." : "\(ancestors) names of ancestors."))
  }

  private static func hasAlternatives(_ filter: FilterTree) -> Bool {
    switch filter {
    case .field: false
    case .all(let parts): parts.contains(where: hasAlternatives)
    case .any: true
    }
  }

  /// The largest number of filters on elements of arrays in one alternative.
  private static func arrayFiltersMax(_ filter: FilterTree) -> Int {
    switch filter {
    case .field(let filter): filter.operator == .arrayContains || filter.operator == .arrayContainsAny ? 1 : 0
    case .all(let parts): parts.reduce(0) { $0 + arrayFiltersMax($1) }
    case .any(let parts): parts.map(arrayFiltersMax).max() ?? 0
    }
  }
}
