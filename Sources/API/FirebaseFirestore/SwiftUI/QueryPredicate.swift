// The steps of a query as values, for queries that views declare.

/// A step of the query of a `FirestoreQueryObservable`, or of `@FirestoreQuery` in SwiftUI.
///
/// ```swift
/// let predicates: [QueryPredicate] = [
///   .where("capital", isEqualTo: true), .order(by: "name"), .limit(to: 10),
/// ]
/// ```
public enum QueryPredicate {
  /// The field equals this value.
  case isEqualTo(_ field: String, _ value: Any)
  /// The field exists and does not equal this value.
  case isNotEqualTo(_ field: String, _ value: Any)

  /// The field equals one of these values.
  case isIn(_ field: String, _ values: [Any])
  /// The field exists and equals none of these values.
  case isNotIn(_ field: String, _ values: [Any])

  /// The field is an array with this element.
  case arrayContains(_ field: String, _ value: Any)
  /// The field is an array with at least one of these elements.
  case arrayContainsAny(_ field: String, _ values: [Any])

  /// The field's value is of the same kind as this operand and sorts before it.
  case isLessThan(_ field: String, _ value: Any)
  /// The field's value is of the same kind as this operand and sorts after it.
  case isGreaterThan(_ field: String, _ value: Any)

  /// The field's value is of the same kind as this operand, and sorts before it or equals it.
  case isLessThanOrEqualTo(_ field: String, _ value: Any)
  /// The field's value is of the same kind as this operand, and sorts after it or equals it.
  case isGreaterThanOrEqualTo(_ field: String, _ value: Any)

  /// Orders by the field; descending if the value is true.
  case orderBy(_ field: String, _ value: Bool)

  /// Limits the query to at most this number of results, counted from the start.
  case limitTo(_ value: Int)
  /// Limits the query to at most this number of results, counted from the end.
  case limitToLast(_ value: Int)
}

// MARK: Names of the query's steps

extension QueryPredicate {
  /// The field equals this value.
  public static func whereField(_ field: String, isEqualTo value: Any) -> QueryPredicate {
    .isEqualTo(field, value)
  }

  /// The field exists and does not equal this value.
  public static func whereField(_ field: String, isNotEqualTo value: Any) -> QueryPredicate {
    .isNotEqualTo(field, value)
  }

  /// The field equals one of these values.
  public static func whereField(_ field: String, in values: [Any]) -> QueryPredicate { .isIn(field, values) }

  /// The field exists and equals none of these values.
  public static func whereField(_ field: String, notIn values: [Any]) -> QueryPredicate {
    .isNotIn(field, values)
  }

  /// The field equals one of these values.
  public static func whereField(_ field: String, isIn values: [Any]) -> QueryPredicate {
    .isIn(field, values)
  }

  /// The field exists and equals none of these values.
  public static func whereField(_ field: String, isNotIn values: [Any]) -> QueryPredicate {
    .isNotIn(field, values)
  }

  /// The field is an array with this element.
  public static func whereField(_ field: String, arrayContains value: Any) -> QueryPredicate {
    .arrayContains(field, value)
  }

  /// The field is an array with at least one of these elements.
  public static func whereField(_ field: String, arrayContainsAny values: [Any]) -> QueryPredicate {
    .arrayContainsAny(field, values)
  }

  /// The field's value is of the same kind as `value` and sorts before it.
  public static func whereField(_ field: String, isLessThan value: Any) -> QueryPredicate {
    .isLessThan(field, value)
  }

  /// The field's value is of the same kind as `value` and sorts after it.
  public static func whereField(_ field: String, isGreaterThan value: Any) -> QueryPredicate {
    .isGreaterThan(field, value)
  }

  /// The field's value is of the same kind as `value`, and sorts before it or equals it.
  public static func whereField(_ field: String, isLessThanOrEqualTo value: Any) -> QueryPredicate {
    .isLessThanOrEqualTo(field, value)
  }

  /// The field's value is of the same kind as `value`, and sorts after it or equals it.
  public static func whereField(_ field: String, isGreaterThanOrEqualTo value: Any) -> QueryPredicate {
    .isGreaterThanOrEqualTo(field, value)
  }
}

// MARK: Short names

extension QueryPredicate {
  /// The field equals this value.
  public static func `where`(_ field: String, isEqualTo value: Any) -> QueryPredicate {
    .isEqualTo(field, value)
  }

  /// The field equals one of these values.
  public static func `where`(_ field: String, isIn values: [Any]) -> QueryPredicate { .isIn(field, values) }

  /// The field exists and equals none of these values.
  public static func `where`(_ field: String, isNotIn values: [Any]) -> QueryPredicate {
    .isNotIn(field, values)
  }

  /// The field is an array with this element. This is the only `where` method of Firestore's predicates that
  /// has a label for the field.
  public static func `where`(field: String, arrayContains value: Any) -> QueryPredicate {
    .arrayContains(field, value)
  }

  /// The field is an array with this element. Firestore's predicates have this method only with a label for
  /// the field.
  public static func `where`(_ field: String, arrayContains value: Any) -> QueryPredicate {
    .arrayContains(field, value)
  }

  /// The field is an array with at least one of these elements.
  public static func `where`(_ field: String, arrayContainsAny values: [Any]) -> QueryPredicate {
    .arrayContainsAny(field, values)
  }

  /// The field's value is of the same kind as `value` and sorts before it.
  public static func `where`(_ field: String, isLessThan value: Any) -> QueryPredicate {
    .isLessThan(field, value)
  }

  /// The field's value is of the same kind as `value` and sorts after it.
  public static func `where`(_ field: String, isGreaterThan value: Any) -> QueryPredicate {
    .isGreaterThan(field, value)
  }

  /// The field's value is of the same kind as `value`, and sorts before it or equals it.
  public static func `where`(_ field: String, isLessThanOrEqualTo value: Any) -> QueryPredicate {
    .isLessThanOrEqualTo(field, value)
  }

  /// The field's value is of the same kind as `value`, and sorts after it or equals it.
  public static func `where`(_ field: String, isGreaterThanOrEqualTo value: Any) -> QueryPredicate {
    .isGreaterThanOrEqualTo(field, value)
  }

  /// Orders by the field and omits documents without it.
  public static func order(by field: String, descending value: Bool = false) -> QueryPredicate {
    .orderBy(field, value)
  }

  /// Limits the query to its first `value` results.
  public static func limit(to value: Int) -> QueryPredicate { .limitTo(value) }

  /// Limits the query to its last `value` results. The query must have an explicit order.
  public static func limit(toLast value: Int) -> QueryPredicate { .limitToLast(value) }
}

extension Query {
  package func refined(by predicate: QueryPredicate) -> Query {
    switch predicate {
    case .isEqualTo(let field, let value): whereField(field, isEqualTo: value)
    case .isNotEqualTo(let field, let value): whereField(field, isNotEqualTo: value)
    case .isIn(let field, let values): whereField(field, in: values)
    case .isNotIn(let field, let values): whereField(field, notIn: values)
    case .arrayContains(let field, let value): whereField(field, arrayContains: value)
    case .arrayContainsAny(let field, let values): whereField(field, arrayContainsAny: values)
    case .isLessThan(let field, let value): whereField(field, isLessThan: value)
    case .isGreaterThan(let field, let value): whereField(field, isGreaterThan: value)
    case .isLessThanOrEqualTo(let field, let value): whereField(field, isLessThanOrEqualTo: value)
    case .isGreaterThanOrEqualTo(let field, let value): whereField(field, isGreaterThanOrEqualTo: value)
    case .orderBy(let field, let isDescending): order(by: field, descending: isDescending)
    case .limitTo(let limit): self.limit(to: limit)
    case .limitToLast(let limit): self.limit(toLast: limit)
    }
  }
}
