// The steps of a query as values, for queries that views declare.

/// A step of the query of a `FirestoreQueryObservable`, or of `@FirestoreQuery` in SwiftUI.
///
/// ```swift
/// let predicates: [QueryPredicate] = [.where("capital", isEqualTo: true), .order(by: "name"), .limit(to: 10)]
/// ```
public enum QueryPredicate {
  /// The field equals this value.
  case isEqualTo(_ field: String, _ value: Any)
  /// The field is there, and does not equal this value.
  case isNotEqualTo(_ field: String, _ value: Any)

  /// The field equals one of these values.
  case isIn(_ field: String, _ values: [Any])
  /// The field is there, and equals none of these values.
  case isNotIn(_ field: String, _ values: [Any])

  /// The field is an array with this element.
  case arrayContains(_ field: String, _ value: Any)
  /// The field is an array with one of these elements.
  case arrayContainsAny(_ field: String, _ values: [Any])

  /// The field has a value that comes before this one.
  case isLessThan(_ field: String, _ value: Any)
  /// The field has a value that comes after this one.
  case isGreaterThan(_ field: String, _ value: Any)

  /// The field has a value that comes before this one or equals it.
  case isLessThanOrEqualTo(_ field: String, _ value: Any)
  /// The field has a value that comes after this one or equals it.
  case isGreaterThanOrEqualTo(_ field: String, _ value: Any)

  /// Descending if the value is true.
  case orderBy(_ field: String, _ value: Bool)

  /// At most so many results, the first ones.
  case limitTo(_ value: Int)
  /// At most so many results, the last ones.
  case limitToLast(_ value: Int)
}

// MARK: Under the names of the query's steps

extension QueryPredicate {
  /// The field equals this value.
  public static func whereField(_ field: String, isEqualTo value: Any) -> QueryPredicate {
    .isEqualTo(field, value)
  }

  /// The field is there, and does not equal this value.
  public static func whereField(_ field: String, isNotEqualTo value: Any) -> QueryPredicate {
    .isNotEqualTo(field, value)
  }

  /// The field equals one of these values.
  public static func whereField(_ field: String, in values: [Any]) -> QueryPredicate { .isIn(field, values) }

  /// The field is there, and equals none of these values.
  public static func whereField(_ field: String, notIn values: [Any]) -> QueryPredicate {
    .isNotIn(field, values)
  }

  /// The field equals one of these values.
  public static func whereField(_ field: String, isIn values: [Any]) -> QueryPredicate {
    .isIn(field, values)
  }

  /// The field is there, and equals none of these values.
  public static func whereField(_ field: String, isNotIn values: [Any]) -> QueryPredicate {
    .isNotIn(field, values)
  }

  /// The field is an array with this element.
  public static func whereField(_ field: String, arrayContains value: Any) -> QueryPredicate {
    .arrayContains(field, value)
  }

  /// The field is an array with one of these elements.
  public static func whereField(_ field: String, arrayContainsAny values: [Any]) -> QueryPredicate {
    .arrayContainsAny(field, values)
  }

  /// The field has a value of the same kind that comes before this one.
  public static func whereField(_ field: String, isLessThan value: Any) -> QueryPredicate {
    .isLessThan(field, value)
  }

  /// The field has a value of the same kind that comes after this one.
  public static func whereField(_ field: String, isGreaterThan value: Any) -> QueryPredicate {
    .isGreaterThan(field, value)
  }

  /// The field has a value of the same kind that comes before this one or equals it.
  public static func whereField(_ field: String, isLessThanOrEqualTo value: Any) -> QueryPredicate {
    .isLessThanOrEqualTo(field, value)
  }

  /// The field has a value of the same kind that comes after this one or equals it.
  public static func whereField(_ field: String, isGreaterThanOrEqualTo value: Any) -> QueryPredicate {
    .isGreaterThanOrEqualTo(field, value)
  }
}

// MARK: Under short names

extension QueryPredicate {
  /// The field equals this value.
  public static func `where`(_ field: String, isEqualTo value: Any) -> QueryPredicate {
    .isEqualTo(field, value)
  }

  /// The field equals one of these values.
  public static func `where`(_ field: String, isIn values: [Any]) -> QueryPredicate { .isIn(field, values) }

  /// The field is there, and equals none of these values.
  public static func `where`(_ field: String, isNotIn values: [Any]) -> QueryPredicate {
    .isNotIn(field, values)
  }

  /// The field is an array with this element.
  public static func `where`(field: String, arrayContains value: Any) -> QueryPredicate {
    .arrayContains(field, value)
  }

  /// The field is an array with this element; the original labels the field in this one form.
  public static func `where`(_ field: String, arrayContains value: Any) -> QueryPredicate {
    .arrayContains(field, value)
  }

  /// The field is an array with one of these elements.
  public static func `where`(_ field: String, arrayContainsAny values: [Any]) -> QueryPredicate {
    .arrayContainsAny(field, values)
  }

  /// The field has a value of the same kind that comes before this one.
  public static func `where`(_ field: String, isLessThan value: Any) -> QueryPredicate {
    .isLessThan(field, value)
  }

  /// The field has a value of the same kind that comes after this one.
  public static func `where`(_ field: String, isGreaterThan value: Any) -> QueryPredicate {
    .isGreaterThan(field, value)
  }

  /// The field has a value of the same kind that comes before this one or equals it.
  public static func `where`(_ field: String, isLessThanOrEqualTo value: Any) -> QueryPredicate {
    .isLessThanOrEqualTo(field, value)
  }

  /// The field has a value of the same kind that comes after this one or equals it.
  public static func `where`(_ field: String, isGreaterThanOrEqualTo value: Any) -> QueryPredicate {
    .isGreaterThanOrEqualTo(field, value)
  }

  /// In order of the field; documents without it are left out.
  public static func order(by field: String, descending value: Bool = false) -> QueryPredicate {
    .orderBy(field, value)
  }

  /// At most so many results, the first ones.
  public static func limit(to value: Int) -> QueryPredicate { .limitTo(value) }

  /// At most so many results, the last ones. It needs an order.
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
