// The steps of a query as values, for queries that views declare.

/// A step of the query of a `FirestoreQueryObservable`, or of `@FirestoreQuery` in SwiftUI.
///
/// ```swift
/// let predicates: [QueryPredicate] = [.where("capital", isEqualTo: true), .order(by: "name"), .limit(to: 10)]
/// ```
public enum QueryPredicate {
  case isEqualTo(_ field: String, _ value: Any)

  case isIn(_ field: String, _ values: [Any])
  case isNotIn(_ field: String, _ values: [Any])

  case arrayContains(_ field: String, _ value: Any)
  case arrayContainsAny(_ field: String, _ values: [Any])

  case isLessThan(_ field: String, _ value: Any)
  case isGreaterThan(_ field: String, _ value: Any)

  case isLessThanOrEqualTo(_ field: String, _ value: Any)
  case isGreaterThanOrEqualTo(_ field: String, _ value: Any)

  /// Descending if the value is true.
  case orderBy(_ field: String, _ value: Bool)

  case limitTo(_ value: Int)
  case limitToLast(_ value: Int)
}

extension QueryPredicate {
  public static func `where`(_ field: String, isEqualTo value: Any) -> QueryPredicate {
    .isEqualTo(field, value)
  }

  public static func `where`(_ field: String, isIn values: [Any]) -> QueryPredicate { .isIn(field, values) }

  public static func `where`(_ field: String, isNotIn values: [Any]) -> QueryPredicate {
    .isNotIn(field, values)
  }

  public static func `where`(_ field: String, arrayContains value: Any) -> QueryPredicate {
    .arrayContains(field, value)
  }

  public static func `where`(_ field: String, arrayContainsAny values: [Any]) -> QueryPredicate {
    .arrayContainsAny(field, values)
  }

  public static func `where`(_ field: String, isLessThan value: Any) -> QueryPredicate {
    .isLessThan(field, value)
  }

  public static func `where`(_ field: String, isGreaterThan value: Any) -> QueryPredicate {
    .isGreaterThan(field, value)
  }

  public static func `where`(_ field: String, isLessThanOrEqualTo value: Any) -> QueryPredicate {
    .isLessThanOrEqualTo(field, value)
  }

  public static func `where`(_ field: String, isGreaterThanOrEqualTo value: Any) -> QueryPredicate {
    .isGreaterThanOrEqualTo(field, value)
  }

  public static func order(by field: String, descending value: Bool = false) -> QueryPredicate {
    .orderBy(field, value)
  }

  public static func limit(to value: Int) -> QueryPredicate { .limitTo(value) }

  public static func limit(toLast value: Int) -> QueryPredicate { .limitToLast(value) }
}

extension Query {
  package func refined(by predicate: QueryPredicate) -> Query {
    switch predicate {
    case .isEqualTo(let field, let value): whereField(field, isEqualTo: value)
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
