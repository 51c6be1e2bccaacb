// The steps of queries: which documents.

public import FirebaseFirestore

extension DataSource.Query {
  /// The field is there and equal.
  public func `where`(_ keyPath: String, isEqualTo: Any) -> DataSource.Query {
    refined(query.whereField(keyPath, isEqualTo: isEqualTo))
  }

  /// The field has a value of the same kind that comes before this one.
  public func `where`(_ keyPath: String, isLessThan: Any) -> DataSource.Query {
    refined(query.whereField(keyPath, isLessThan: isLessThan))
  }

  /// The field has a value of the same kind that comes before this one or equals it.
  public func `where`(_ keyPath: String, isLessThanOrEqualTo: Any) -> DataSource.Query {
    refined(query.whereField(keyPath, isLessThanOrEqualTo: isLessThanOrEqualTo))
  }

  /// The field has a value of the same kind that comes after this one.
  public func `where`(_ keyPath: String, isGreaterThan: Any) -> DataSource.Query {
    refined(query.whereField(keyPath, isGreaterThan: isGreaterThan))
  }

  /// The field has a value of the same kind that comes after this one or equals it.
  public func `where`(_ keyPath: String, isGreaterThanOrEqualTo: Any) -> DataSource.Query {
    refined(query.whereField(keyPath, isGreaterThanOrEqualTo: isGreaterThanOrEqualTo))
  }

  /// The field is an array with this element.
  public func `where`(_ keyPath: String, arrayContains: Any) -> DataSource.Query {
    refined(query.whereField(keyPath, arrayContains: arrayContains))
  }

  /// The field is equal to one of these values.
  public func `where`(_ keyPath: String, in values: [Any]) -> DataSource.Query {
    refined(query.whereField(keyPath, in: values))
  }

  /// The field is an array with one of these elements.
  public func `where`(_ keyPath: String, arrayContainsAny: [Any]) -> DataSource.Query {
    refined(query.whereField(keyPath, arrayContainsAny: arrayContainsAny))
  }

  // MARK: What the original has not

  /// The field is there, is not null and differs.
  public func `where`(_ keyPath: String, isNotEqualTo: Any) -> DataSource.Query {
    refined(query.whereField(keyPath, isNotEqualTo: isNotEqualTo))
  }

  /// The field is there, is not null and differs from each of these values.
  public func `where`(_ keyPath: String, notIn: [Any]) -> DataSource.Query {
    refined(query.whereField(keyPath, notIn: notIn))
  }

  /// Those that also satisfy a condition, which may be composed of others.
  public func filter(_ filter: Filter) -> DataSource.Query { refined(query.whereFilter(filter)) }
}
