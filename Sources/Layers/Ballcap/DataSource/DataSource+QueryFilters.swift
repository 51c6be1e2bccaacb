// The filters of a query.

public import FirebaseFirestore

extension DataSource.Query {
  /// Adds the condition that the field exists and equals this value.
  public func `where`(_ keyPath: String, isEqualTo: Any) -> DataSource.Query {
    refined(query.whereField(keyPath, isEqualTo: isEqualTo))
  }

  /// Adds the condition that the field is less than this value and of the same type.
  public func `where`(_ keyPath: String, isLessThan: Any) -> DataSource.Query {
    refined(query.whereField(keyPath, isLessThan: isLessThan))
  }

  /// Adds the condition that the field is at most this value and of the same type.
  public func `where`(_ keyPath: String, isLessThanOrEqualTo: Any) -> DataSource.Query {
    refined(query.whereField(keyPath, isLessThanOrEqualTo: isLessThanOrEqualTo))
  }

  /// Adds the condition that the field is greater than this value and of the same type.
  public func `where`(_ keyPath: String, isGreaterThan: Any) -> DataSource.Query {
    refined(query.whereField(keyPath, isGreaterThan: isGreaterThan))
  }

  /// Adds the condition that the field is at least this value and of the same type.
  public func `where`(_ keyPath: String, isGreaterThanOrEqualTo: Any) -> DataSource.Query {
    refined(query.whereField(keyPath, isGreaterThanOrEqualTo: isGreaterThanOrEqualTo))
  }

  /// Adds the condition that the field is an array with this element.
  public func `where`(_ keyPath: String, arrayContains: Any) -> DataSource.Query {
    refined(query.whereField(keyPath, arrayContains: arrayContains))
  }

  /// Adds the condition that the field equals one of these values.
  public func `where`(_ keyPath: String, in values: [Any]) -> DataSource.Query {
    refined(query.whereField(keyPath, in: values))
  }

  /// Adds the condition that the field is an array with one of these elements.
  public func `where`(_ keyPath: String, arrayContainsAny: [Any]) -> DataSource.Query {
    refined(query.whereField(keyPath, arrayContainsAny: arrayContainsAny))
  }

  // MARK: Additions to the original

  /// Adds the condition that the field exists, is not null, and does not equal this value.
  public func `where`(_ keyPath: String, isNotEqualTo: Any) -> DataSource.Query {
    refined(query.whereField(keyPath, isNotEqualTo: isNotEqualTo))
  }

  /// Adds the condition that the field exists, is not null, and equals none of these values.
  public func `where`(_ keyPath: String, notIn: [Any]) -> DataSource.Query {
    refined(query.whereField(keyPath, notIn: notIn))
  }

  /// Adds a condition, which may be composed of other conditions.
  public func filter(_ filter: Filter) -> DataSource.Query { refined(query.whereFilter(filter)) }
}
