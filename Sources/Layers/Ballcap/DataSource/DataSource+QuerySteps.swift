// The steps of a query: filters, order, limits and cursors.
//
// Every step calls `refined`. The type's static methods (DataRepresentable+Queries.swift) forward to these
// steps, so a new step is added to both files. The steps are members of the class and not of a protocol,
// because no other type has them as instance methods.

public import FirebaseFirestore

extension DataSource.Query {
  // MARK: Filters

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

  // MARK: Filters that the original does not have

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

  // MARK: Order, limits and cursors

  /// Orders the query by this field, ascending. Omits documents without the field. Data sources keep this
  /// order.
  public func order(by: String) -> DataSource.Query { refined(query.order(by: by)) }

  /// Orders the query by this field. Omits documents without the field.
  public func order(by: String, descending: Bool) -> DataSource.Query {
    refined(query.order(by: by, descending: descending))
  }

  /// Limits the query to the first documents.
  public func limit(to: Int) -> DataSource.Query { refined(query.limit(to: to)) }

  /// Limits the query to the last documents, still in the order of the query. The query must have an explicit
  /// order. Not in the original.
  public func limit(toLast: Int) -> DataSource.Query { refined(query.limit(toLast: toLast)) }

  /// Starts at the documents that have these values in the ordering fields, inclusive.
  public func start(at: [Any]) -> DataSource.Query { refined(query.start(at: at)) }

  /// Starts after the documents that have these values in the ordering fields.
  public func start(after: [Any]) -> DataSource.Query { refined(query.start(after: after)) }

  /// Starts at the document's position in the order, inclusive.
  public func start(atDocument: DocumentSnapshot) -> DataSource.Query {
    refined(query.start(atDocument: atDocument))
  }

  /// Starts after the document's position in the order.
  public func start(afterDocument: DocumentSnapshot) -> DataSource.Query {
    refined(query.start(afterDocument: afterDocument))
  }

  /// Ends at the documents that have these values in the ordering fields, inclusive.
  public func end(at: [Any]) -> DataSource.Query { refined(query.end(at: at)) }

  /// Ends at the document's position in the order, inclusive.
  public func end(atDocument: DocumentSnapshot) -> DataSource.Query {
    refined(query.end(atDocument: atDocument))
  }

  /// Ends before the documents that have these values in the ordering fields.
  public func end(before: [Any]) -> DataSource.Query { refined(query.end(before: before)) }

  /// Ends before the document's position in the order.
  public func end(beforeDocument: DocumentSnapshot) -> DataSource.Query {
    refined(query.end(beforeDocument: beforeDocument))
  }
}
